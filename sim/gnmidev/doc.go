// Package gnmidev simulates the devices of Ethernet fabrics that are managed by gNMI: SONiC switches, switches that speak
// OpenConfig, and hosts with RoCE or WRCC NICs. Thousands of them answer behind one listener, told apart by prefix.target.
// What they are told drives the packets of a data plane, and what they count comes from it.
//
//	client ── gNMI ─► Server ─► gate (lost, late and busy messages) ─► Switch: CONFIG_DB … COUNTERS_DB ─► SwitchPlane
//	                                                                ─► Host: agent ─► files, netlink, mstconfig ─► NICPlane
//
// A host runs the same agent that is shipped. What the agent touches - the files of drivers, DCB netlink, mstconfig, rates
// of virtual functions - is the state of simulated cards here, with the side effects and the faults that real ones have. An
// agent starts when somebody first asks for its host.
package gnmidev
