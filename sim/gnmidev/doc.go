// Package gnmidev simulates devices of Ethernet fabrics that are managed by gNMI: SONiC switches, OpenConfig switches, and
// hosts with RoCE or WRCC NICs. Thousands of devices share one listener and are selected by prefix.target. Their settings
// control the packets of a data plane, and their counters come from it.
//
//	client ── gNMI ─► Server ─► gate (lost, late and busy messages) ─► Switch: CONFIG_DB … COUNTERS_DB ─► SwitchPlane
//	                                                                ─► Host: agent ─► files, netlink, mstconfig ─► NICPlane
//
// A host runs the real host agent. The agent's interfaces - driver files, DCB netlink, mstconfig, rates of virtual functions
// - are those of simulated cards, with the side effects and faults of real ones. The agent starts at the first request for
// its host.
package gnmidev
