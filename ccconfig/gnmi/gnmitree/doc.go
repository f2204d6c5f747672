// Package gnmitree has the paths and values of gNMI that managers, agents and simulated devices share, and answers gNMI
// (service version 0.10.0) for targets: the host agent, and simulated hosts and switches by thousands behind one listener.
//
// A target is a Tree: leaves by path, operations, notices of changes. The Server does what gNMI asks around it: decoding
// and bounding requests, finding the target by prefix.target (Targets), data types and encodings, JSON of containers,
// master arbitration, and subscriptions.
//
//	client ── Get ───────► Server ── Get(paths, type) ──► Tree   leaves of one moment
//	       ── Set ───────►        ── Set(operations) ──►         all or none
//	       ── Subscribe ─►        ── Watch, then Get  ──►        what changed, then its value
//
// A subscription is driven by levels: a notice marks paths as changed, and the stream reads their values when it can send
// them. A client that reads slowly therefore gets the newest value of everything that changed, marked with how many
// changes may have been merged into it (Update.duplicates); a client that does not read at all is disconnected with
// ResourceExhausted. What is not sent is never lost silently, and a stream's memory is bounded by the tree's size.
//
// Codes that methods of a Tree should use: InvalidArgument for paths and values that can never be right, NotFound for
// nodes that do not exist, FailedPrecondition for what the device's state forbids, PermissionDenied for what it never lets
// anybody do, Unimplemented for what it lacks, Aborted for a Set that failed and was undone, DataLoss for one that failed
// and was not undone entirely, Unavailable for a device that does not answer now. An error's text names the path, what was
// found and what is allowed.
package gnmitree
