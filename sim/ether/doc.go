// Package ether is a packet-level model of an Ethernet fabric that carries RDMA (RoCE): NICs that
// pace and window flows by a congestion control of package cc, and output-queued switches with a
// shared buffer, priority flow control, ECN marking and in-band telemetry.
//
// Time is integer picoseconds. A node stores and forwards: a packet arrives one serialization time
// and one propagation delay after its first bit left. A link is a first-in-first-out pipe with one
// pending event however many packets it holds; packets and flows live in flat arrays; once these
// have grown to their working size nothing allocates. A run is a function of topology,
// configuration and flows: same input, same packets at the same times.
//
// Settings may change between two calls of RunUntil: marking, notifications, shares of virtual functions, fair rates, links,
// weights and demands of flows. An algorithm may take other settings too (cc.MlxPorts, cc.WRCCPorts). The run is then a
// function of the changes with their instants besides.
//
// The model follows the packet simulators that the RDMA literature uses where they agree; where a
// choice of theirs is a shortcut (times truncated to nanoseconds, congestion notification as a bit
// of the acknowledgement) both are options.
package ether
