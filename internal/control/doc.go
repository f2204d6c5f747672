// Package control holds the use cases behind the API: one file for each group of things an
// operator does, one transaction for each change. It knows the pure model and the interfaces it
// declares (Store, Discoverer, Compiler, Roller, Observer, Meter) and nothing of databases, HTTP or devices.
//
// Rules that hold for every use case:
//
//   - Every change of a stored thing writes an Event in the same transaction, with who did it.
//   - Mutable things carry a Version; a change names the version it was made against, and a
//     stale one is refused with ErrPrecondition.
//   - Devices are reached only through a Rollout of a stored plan. At most one rollout runs on a
//     fabric; the store enforces it, so that it holds across managers too.
//   - A rollout row is "running" until its goroutine wrote the result. A row that is running
//     when a manager starts belongs to one that died: Recover marks it interrupted, and nothing
//     ever calls it done.
package control
