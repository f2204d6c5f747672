// Package control has what the use cases behind the API are about, and what they share: fabrics, tenants, plans, rollouts,
// devices, accounts and events as the service keeps them, the interfaces that it declares (Store, Discoverer, Observer, Meter,
// Laboratory), and Base. It knows nothing of databases, HTTP or devices.
//
// The use cases are in the packages below, an aggregate each: fabrics, tenancy, plans, rollouts, drift, shares, tasks, identity,
// operations. One imports another where it builds on it, and never back; usecases puts them together. Rules that hold for
// every one:
//
//   - One transaction makes each change. It writes an Event as well, with who did it.
//   - Mutable things carry a Version; a change names the version it was made against, and a
//     stale one is refused with ErrPrecondition.
//   - Devices are reached only through a Rollout of a stored plan. At most one rollout runs on a
//     fabric; the store enforces it, so that it holds across managers too.
//   - What goes on after a request - rollouts, simulations, calibrations - is a row and a job. Any manager works
//     it (package rollout, WorkTask), and goes on with what one that died left.
package control
