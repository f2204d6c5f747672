// Package simdev puts management agents in front of a simulated InfiniBand fabric, so that
// subnet managers, diagnostic tools and Fairlane itself cannot tell it from hardware.
//
// Devices holds the agents: subnet management (classes 0x01 and 0x81), performance (0x04),
// congestion control (0x21, IBTA annex A10) and a stand-in for subnet administration (0x03).
// Every setting they accept is written to the fabric.Network behind them, and every counter
// and log they report is fed by its packets. Server speaks the datagram protocol of ibsim, so
// that unmodified tools attach through their preload library; Local is the same in process.
//
//	client -> Server -> Devices.Handle -> route -> agent -> fabric.Network
//	                         ^                                    ^
//	                       faults                          Run (simulated time)
//
// One lock guards the network and the agents. Handlers take it for one batch of datagrams,
// Run for one short slice of simulated time, in turn.
package simdev
