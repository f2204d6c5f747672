// Package wrcc holds the calculations of WRCC, the WAN RDMA congestion control of "Congestion control for RDMA with end-network
// collaboration in computing power network" (Journal on Communications, 2026; S0): the fair rate that a switch computes for
// each egress port (Algorithm 1), the sender that follows it (Algorithm 2), the parameters for a topology, the stability
// margins of the control loop and the headers on the wire.
//
// The control loop works as follows. A sender writes its rate into every data packet. A switch port with a lower fair rate
// overwrites it, so the packet arrives with the lowest fair rate of its path. The receiver copies this rate into the
// acknowledgement, and the sender adopts it. A switch in the sender's own data centre reacts faster: it turns a packet that
// exceeds the fair rate, and belongs to a burst or to a flow that leaves the data centre, into a fast congestion notification
// (FCNP) directly to the sender.
//
// # Weights
//
// S0 gives every flow of a port the same rate. Here a rate in a header is normalized: a sender of weight w writes its rate
// divided by w and sends at w times the rate that it receives. Switches do not change, because they compare and copy normalized
// rates and measure physical bytes. Where n_i senders of weight w_i share a port, the port is in equilibrium when the sum of
// n_i·w_i times the fair rate equals its target: shares are exactly proportional to weights.
//
// Headers limit the useful weights. Their FairRate has 32 bits of Mbit/s, so a sender of line rate B can express B/w for
// weights of at least B/4.29 Pbit/s: 0.0001 at 400 Gbit/s. With a lower weight, it requests less than its line rate. A fair
// rate, which is the target divided by the sum of the weights at the port, is rounded to the unit of 1 Mbit/s: the error is
// below 1 % at 50 Mbit/s or more, which is a sum of 2,000 at 100 Gbit/s; at a sum of 100,000 it is the minimum of one unit.
// Ratios between flows stay exact, because all receive the same number. A switch's settings limit weights further: a single
// flow of weight w gets at most w·Fmax, and flows whose weights sum to W are never limited below W·Fmin in total.
// DefaultParams suits weights of 1 and more with sums up to 1000; Derive handles others.
//
// # Errors in print
//
// S0's listings differ from its text in two places, where only the text can work:
//
//   - Algorithm 1, line 7 sets the excess queue to Qmax - Qp. It would shrink as the queue grows, and
//     react most to a queue just over its limit. Table 1 calls it "length over the limit", so here it
//     is Qp - QRatioMax·Qmax.
//   - Algorithm 2, line 17 sets the rate to max(2·Rc, Bsend), which is line rate at the first
//     expiry of the timer. The text says that the sender doubles its rate; here it is the minimum.
//
// Formula (1) calls the sampling period WRCC where table 1 and formula (2) say WRCCT.
//
// All types are values. The package has no clock, does not allocate on a packet's path and does not log.
package wrcc
