// Package gnmitree implements the paths and values of gNMI for managers, agents and simulated devices, and a gNMI server
// (service version 0.10.0) for targets: the host agent, and thousands of simulated hosts and switches behind one listener.
//
// A target implements Tree: leaves by path, operations, and notices of changes. The Server implements the rest of gNMI:
// decoding and limiting requests, finding the target by prefix.target (Targets), data types and encodings, JSON of containers,
// master arbitration, and subscriptions.
//
//	client ── Get ───────► Server ── Get(paths, type) ──► Tree   leaves of one moment
//	       ── Set ───────►        ── Set(operations) ──►         all or none
//	       ── Subscribe ─►        ── Watch, then Get  ──►        what changed, then its value
//
// Subscriptions are level-triggered: a notice marks paths as changed, and the stream reads their values when it can send them.
// A slow client therefore receives the newest value of every changed path, with the number of changes that may have been merged
// (Update.duplicates). A client that does not read at all is disconnected with ResourceExhausted. Updates are never dropped
// silently, and the size of the tree limits a stream's memory.
//
// Methods of a Tree should use these codes: InvalidArgument for paths and values that can never be valid, NotFound for nodes
// that do not exist, FailedPrecondition for operations that the device's state does not allow, PermissionDenied for operations
// that are never allowed, Unimplemented for missing features, Aborted for a Set that failed and was undone, DataLoss for a Set
// that failed and was not completely undone, Unavailable for a device that does not answer now. An error's text contains the
// path, the value found and the allowed values.
package gnmitree
