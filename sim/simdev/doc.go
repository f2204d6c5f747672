// Package simdev implements the management agents of a simulated InfiniBand fabric. Subnet managers, diagnostic tools and
// Fairlane use it like hardware.
//
// Devices holds the agents: subnet management (classes 0x01 and 0x81), performance (0x04), congestion control (0x21, IBTA
// annex A10) and a stand-in for subnet administration (0x03). The agents write every accepted setting to their
// fabric.Network, and derive every counter and log from its packets. Server implements the datagram protocol of ibsim, so
// that unmodified tools attach through their preload library. Local provides the same within the process.
//
//	client -> Server -> Devices.Handle -> route -> agent -> fabric.Network
//	                         ^                                    ^
//	                       faults                          Run (simulated time)
//
// One lock guards the network and the agents. Handlers hold it for one batch of datagrams, Run for one short slice of
// simulated time, alternately.
package simdev
