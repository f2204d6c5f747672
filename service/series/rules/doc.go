// Package rules has the recording and alerting rules of the service, as values and as a Prometheus rule file. The service evaluates them
// on its own series, and deploy/prometheus/fairlane.rules.yaml gives the same rules to other Prometheus servers.
//
// # Objectives
//
// The objective of a tenant is the fraction of its contended seconds that must not be bad: fairlane_tenant_objective_ratio. The error
// ratio of a window is bad seconds over contended seconds; a tenant that does not contend has none. The names slo:* and the labels
// sloth_* are those of Sloth, so that its dashboards find them.
//
// # Long windows
//
// Windows of a day and more read copies of the counters that have a sample every five minutes: 28 days of a counter with a sample every
// 15 s are 161,000 samples. The increases of these windows are computed as often as the copies change, and not at each evaluation.
package rules
