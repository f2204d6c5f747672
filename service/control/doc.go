// Package control holds the use cases behind the API: one file for each group of things an
// operator does, one transaction for each change. It knows the pure model and the interfaces it
// declares (Store, Discoverer, Observer, Meter, Laboratory) and nothing of databases, HTTP or devices.
//
// Rules that hold for every use case:
//
//   - Every change of a stored thing writes an Event in the same transaction, with who did it.
//   - Mutable things carry a Version; a change names the version it was made against, and a
//     stale one is refused with ErrPrecondition.
//   - Devices are reached only through a Rollout of a stored plan. At most one rollout runs on a
//     fabric; the store enforces it, so that it holds across managers too.
//   - What goes on after a request - rollouts, simulations, calibrations - is a row and a job. Any manager works
//     it (package engine, WorkTask), and goes on with what one that died left.
package control
