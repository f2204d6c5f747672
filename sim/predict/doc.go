// Package predict is the RTT predictor of the neural congestion control paper (S3): the features it
// takes from a flow's RTT samples, the small LSTM network that maps three of them to the next RTT,
// and the training of that network.
//
// A sample R_t becomes a smoothed value S_t and a feature K_t, its distance from S_t in units of S_t
// (Filter; S3, equations 2 and 3). A Recorder turns the samples of many flows into rows of three
// features and the label L_t, Balance thins them so that no range of |K| outweighs the others, and
// Train fits a Model. In use the prediction of the next RTT is (1 + Predict(K)) * S_t (S3, equation
// 12).
//
// Everything here is a pure function of its input and of a seed, and gives the same bits on every
// machine: no product is fused into a sum, and the exponential is the package's own.
package predict
