package obs

import (
	"fmt"
	"strings"
)

// Metric describes one family of metrics.
type Metric struct {
	Name   string
	Kind   string // "counter", "gauge" or "histogram"
	Labels []string
	Help   string // one sentence without its full stop
}

// Names of the families.
const (
	metricBuild        = "fairlane_build_info"
	metricRequests     = "fairlane_http_requests_total"
	metricDuration     = "fairlane_http_request_duration_seconds"
	metricBytes        = "fairlane_http_response_bytes_total"
	metricInFlight     = "fairlane_http_requests_in_flight"
	metricProblems     = "fairlane_http_problems_total"
	metricRefused      = "fairlane_authentication_failures_total"
	metricCompile      = "fairlane_compile_duration_seconds"
	metricDiscover     = "fairlane_discover_duration_seconds"
	metricMeasure      = "fairlane_measure_duration_seconds"
	metricBECN         = "fairlane_congestion_notifications_total"
	metricCongestion   = "fairlane_congestion_events_total"
	metricUnattributed = "fairlane_congestion_unattributed_total"
	metricUnread       = "fairlane_congestion_unread_total"
	metricStore        = "fairlane_store_transaction_duration_seconds"
	metricStoreErrors  = "fairlane_store_errors_total"
	metricReady        = "fairlane_ready"
	metricCensusAge    = "fairlane_census_age_seconds"
	metricFabrics      = "fairlane_fabrics"
	metricTenants      = "fairlane_tenants"
	metricRollouts     = "fairlane_rollouts"
	metricDevices      = "fairlane_rollout_devices"
	metricJobs         = "fairlane_jobs"
	metricSessions     = "fairlane_sessions"
	metricDrift        = "fairlane_drifted_devices"
	metricReadings     = "fairlane_devices"
	metricQuarantined  = "fairlane_quarantined_devices"
	metricRead         = "fairlane_drift_readings_total"
	metricSweep        = "fairlane_drift_sweep_duration_seconds"
	metricOldestActive = "fairlane_rollout_oldest_active_seconds"
	metricSeries       = "fairlane_series"
	metricSeriesBytes  = "fairlane_series_bytes"
	metricSeriesErrors = "fairlane_series_errors_total"
	metricWatched      = "fairlane_watched_ports"

	metricNotifications = "fairlane_notifications_total"
	metricQueued        = "fairlane_notification_queue"
	metricAuditLag      = "fairlane_audit_export_lag_entries"
	metricSeriesQueue   = "fairlane_series_queue_bytes"
	metricSeriesLost    = "fairlane_series_lost_samples_total"
	metricPushes        = "fairlane_metrics_pushes_total"
)

// Table lists every family that the service defines. The Prometheus client adds its own: go_* and
// process_*.
func Table() []Metric {
	return []Metric{
		{metricBuild, "gauge", []string{"version", "go_version"}, "always 1; the labels identify the build"},
		{metricReady, "gauge", nil, "1 while the manager accepts work; 0 while it starts or stops, or while its store does not answer"},
		{metricRequests, "counter", []string{"method", "route", "status"}, "requests answered; `route` is the path in the API contract, or `unmatched`"},
		{metricDuration, "histogram", []string{"method", "route"}, "time from the headers of a request to the end of its response"},
		{metricBytes, "counter", []string{"method", "route"}, "size of response bodies as sent, in bytes"},
		{metricInFlight, "gauge", nil, "requests in progress"},
		{metricProblems, "counter", []string{"code"}, "problem documents returned, by code (docs/problems.md)"},
		{metricRefused, "counter", []string{"kind"}, "requests that failed authentication; `kind` is `sign-in`, `credential` (token, session or certificate) or `locked` (too many attempts)"},
		{metricCompile, "histogram", []string{"plane", "outcome"}, "time to compile a plan; `outcome` is `ok` or `error`"},
		{metricDiscover, "histogram", []string{"outcome"}, "time to discover or rediscover a fabric"},
		{metricMeasure, "histogram", []string{"outcome"}, "time to measure shares, including the measurement window; `outcome` is `ok`, `incomplete` (a tenant or link was not measured) or `error`"},
		{metricBECN, "counter", nil, "BECNs received during share measurements by the InfiniBand ports from which tenants send"},
		{metricCongestion, "counter", []string{"log"}, "events counted during share measurements by the congestion logs of InfiniBand devices; `log` is `adapter` (a CCTI reached its Trigger_Threshold) or `switch` (a packet was marked)"},
		{metricUnattributed, "counter", nil, "events in congestion logs that match no tenant of the plan: traffic from outside the plan"},
		{metricUnread, "counter", nil, "InfiniBand ports and congestion logs that a share measurement could not use: unreadable, saturated, or without these counters; the two congestion counters omit them"},
		{metricSweep, "histogram", []string{"outcome"}, "time to check a batch of at most 128 devices for drift; `outcome` is `error` when their fabric is unreachable"},
		{metricRead, "counter", []string{"reading"}, "drift checks of devices by this manager, by result"},
		{metricStore, "histogram", []string{"kind"}, "time of a store transaction, including the wait for its turn; `kind` is `write` or `read`"},
		{metricStoreErrors, "counter", []string{"kind", "reason"}, "store transactions that failed through no fault of the caller; `reason` is `full`, `read-only`, `damaged`, `lost`, `timeout` or `other`"},
		{metricCensusAge, "gauge", nil, "age of the counts of fabrics, tenants, rollouts, devices, jobs and sessions, which are read from the store at most every 10 s"},
		{metricFabrics, "gauge", nil, "fabrics under management"},
		{metricTenants, "gauge", nil, "tenants on all fabrics"},
		{metricRollouts, "gauge", []string{"state"}, "rollouts in the store, by state"},
		{metricOldestActive, "gauge", nil, "age of the oldest unfinished rollout; absent when there is none"},
		{metricDevices, "gauge", []string{"state"}, "devices in unfinished rollouts, by state"},
		{metricDrift, "gauge", nil, "devices whose last reading differs from the plan, outside rollouts"},
		{metricReadings, "gauge", []string{"reading"}, "devices of the plans in force, and devices that left one but are not yet verified clean, by their latest reading: `unknown`, `in-sync`, `drifted`, `unreachable` or `unsupported`"},
		{metricQuarantined, "gauge", nil, "devices quarantined because they drifted repeatedly"},
		{metricJobs, "gauge", []string{"state"}, "jobs in the queue, by River's state; growing `available` means too few workers"},
		{metricSeries, "gauge", nil, "time series in memory; new ones beyond 200,000 are not stored"},
		{metricSeriesBytes, "gauge", nil, "bytes of stored blocks of time series on disk"},
		{metricSeriesErrors, "counter", nil, "batches of samples that were not stored, or not completely"},
		{metricWatched, "gauge", []string{"state"}, "ports of `series.watch.ports` that this manager reads, by the latest reading: `read`, `unread` (not or not completely) or `omitted` (beyond 64 of a fabric); `unknown` counts entries that match no port"},
		{metricNotifications, "counter", []string{"receiver_kind", "outcome"}, "notifications of this manager; for `alertmanager`, alerts. `receiver_kind` is `alertmanager`, `webhook` or `mail`; `outcome` is `sent`, `retried` (an attempt failed), `failed` (given up) or `dropped` (full queue, or end of the manager)"},
		{metricQueued, "gauge", []string{"receiver_kind"}, "notifications of this manager that wait to be delivered"},
		{metricAuditLag, "gauge", []string{"sink"}, "audit entries that a sink of `audit.export.sinks` has not acknowledged; the same on all managers"},
		{metricSeriesLost, "counter", nil, "with `series.url`: samples that were lost since the server took none, or refused them"},
		{metricSeriesQueue, "gauge", nil, "with `series.url`: bytes of samples that wait for the server"},
		{metricPushes, "counter", []string{"outcome"}, "with `metrics.endpoint`: pushes of the metrics to the collector; `outcome` is `ok` or `error`"},
		{metricSessions, "gauge", nil, "browser sessions that have not expired"},
	}
}

// Reference returns the table in Markdown, as docs/operations.md shows it.
func Reference() string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range Table() {
		labels := make([]string, len(m.Labels))
		for i, l := range m.Labels {
			labels[i] = "`" + l + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(labels, ", "), m.Help)
	}
	return b.String()
}
