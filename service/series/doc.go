// Package series has the vocabulary of time series: what tenants were entitled to and what they received. Package embedded keeps them
// with Prometheus's TSDB and query engine.
//
// # Tenants
//
// PromQL has no tenants. A caller limited to some fabrics or tenants gets a Scope, which the storage below the query engine enforces:
// the engine sees the caller's series alone. So absent, count, topk, info and label lookups cannot reveal what else exists, and no query
// needs to be rewritten or rejected. A series is visible to a tenant when its family is marked so in Families and its labels name the
// tenant.
//
// # Time
//
// Timestamps are the manager's wall time, in milliseconds since 1970. On simulated fabrics the values are rates of the fabric's own
// time.
package series
