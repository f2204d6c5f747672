// Package control defines the objects of the use cases behind the API, and their common parts: fabrics, tenants,
// plans, rollouts, devices, accounts and events as the service stores them, the interfaces that it declares (Store,
// Discoverer, Observer, Meter, Laboratory), and Base. It does not depend on databases, HTTP or devices.
//
// The use cases are in the packages below, one for each aggregate: fabrics, tenancy, plans, rollouts, drift, shares,
// tasks, identity, operations. One may import another that it builds on, without cycles; usecases assembles them. All
// follow these rules:
//
//   - One transaction makes each change. It also writes an Event that names the actor.
//   - Mutable objects carry a Version. A change names the version it was based on, and a
//     stale one is rejected with ErrPrecondition.
//   - Devices are reached only through a Rollout of a stored plan. At most one rollout runs on a
//     fabric. The store enforces this, so that it holds across managers.
//   - Work that continues after a request - rollouts, simulations, calibrations - is a row and a job. Any manager
//     works it (package rollout, WorkTask), and continues the work of a manager that died.
package control
