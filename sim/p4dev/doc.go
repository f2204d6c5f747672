// Package p4dev simulates WRCC switches as P4Runtime v1 servers. A controller, ours or a generic client, can use them like
// hardware with the program of package p4info.
//
// One Server answers for many devices by their device_id, and supports server reflection for generic clients:
//
//	client -> gRPC -> Server -> Device (arbitration, pipeline, tables, faults)
//	                                |             ^
//	                         Configure        Measure
//	                                v             |
//	                               DataPlane, such as a simulated fabric
//
// A device is stricter than the specification: byte strings must be canonical in requests too, so that a client's mistakes
// appear here instead of on the first real switch that rejects them. Only the default role and the atomicity CONTINUE_ON_ERROR
// are supported.
package p4dev
