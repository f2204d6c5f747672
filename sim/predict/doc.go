// Package predict is the RTT predictor of the neural congestion control paper (S3): the features of a flow's RTT samples, the
// small LSTM network that maps three of them to the next RTT, and the training of that network.
//
// A Filter converts a sample R_t to a smoothed value S_t and a feature K_t, its deviation from S_t in units of S_t (S3,
// equations 2 and 3). A Recorder converts the samples of many flows to rows of three features and the label L_t, Balance thins
// them so that no range of |K| dominates, and Train fits a Model. The predicted next RTT is (1 + Predict(K)) * S_t (S3,
// equation 12).
//
// All functions are pure functions of their input and a seed, and give the same bits on every machine: no product is fused into
// a sum, and the exponential is our own implementation.
package predict
