// Package ether is a packet-level model of an Ethernet fabric that carries RDMA (RoCE): NICs whose flows are paced and windowed
// by a congestion control of package cc, and output-queued switches with a shared buffer, priority flow control, ECN marking
// and in-band telemetry.
//
// Time is in integer picoseconds. Nodes are store-and-forward: a packet arrives one serialization time and one propagation
// delay after its first bit left. A link is a FIFO queue with one pending event for any number of packets. Packets and flows
// are in flat arrays, and nothing allocates after these have reached their working size. A run is a function of topology,
// configuration and flows: the same input gives the same packets at the same times.
//
// Settings may change between two calls of RunUntil: marking, notifications, shares of virtual functions, fair rates, links,
// weights and demands of flows. Settings of an algorithm may change too (cc.MlxPorts, cc.WRCCPorts). The run is then also a
// function of these changes and their times.
//
// The model follows the packet simulators of the RDMA literature where they agree. Where they take a shortcut (times truncated
// to nanoseconds, congestion notification as a bit of the acknowledgement), the shortcut is an option.
package ether
