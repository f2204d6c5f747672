// Package p4dev is simulated WRCC switches as P4Runtime v1 servers, so that a controller - ours or a generic
// client - cannot tell them from hardware with the program of package p4info.
//
// One Server answers for many devices by their device_id, and by server reflection for generic clients:
//
//	client -> gRPC -> Server -> Device (arbitration, pipeline, tables, faults)
//	                                |             ^
//	                         Configure        Measure
//	                                v             |
//	                               DataPlane, such as a simulated fabric
//
// A device is stricter than the specification asks: byte strings must be canonical in requests as well,
// so that a client's mistakes show here and not on the one switch that minds them. Only the default role and
// the atomicity CONTINUE_ON_ERROR are served.
package p4dev
