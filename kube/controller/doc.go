// Package controller keeps the manager's tenants in step with a cluster. One pass works on one fabric:
//
//	bindings × namespaces × attachments → ports of each tenant → the cluster's feed at the manager
//	→ a plan, and within the bindings' budget a rollout → status of bindings and attachments, events of pods
//
// A pass derives what it does from the cluster and the manager; it needs nothing of an earlier pass or of another replica.
// What it remembers only saves requests. The manager decides what a plan holds; the cluster states who is where.
package controller
