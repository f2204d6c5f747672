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
	metricStrangers    = "fairlane_congestion_unattributed_total"
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
)

// Table lists every family that the service itself has. Beside them stand those of the Prometheus client: go_* and
// process_*.
func Table() []Metric {
	return []Metric{
		{metricBuild, "gauge", []string{"version", "go_version"}, "1; which build this is"},
		{metricReady, "gauge", nil, "1 while the manager takes work, 0 while it starts or ends or its store does not answer"},
		{metricRequests, "counter", []string{"method", "route", "status"}, "requests answered; `route` is the path of the contract, `unmatched` for others"},
		{metricDuration, "histogram", []string{"method", "route"}, "time from a request's headers to the end of its answer"},
		{metricBytes, "counter", []string{"method", "route"}, "bytes of answers' bodies as sent"},
		{metricInFlight, "gauge", nil, "requests under way"},
		{metricProblems, "counter", []string{"code"}, "problem documents answered, by code of docs/problems.md"},
		{metricRefused, "counter", []string{"kind"}, "requests refused for who sent them: `sign-in`, `credential` (token, session or certificate), `locked` (too many attempts)"},
		{metricCompile, "histogram", []string{"plane", "outcome"}, "time to compile a plan; `outcome` is `ok` or `error`"},
		{metricDiscover, "histogram", []string{"outcome"}, "time to discover a fabric, or to look at it again"},
		{metricMeasure, "histogram", []string{"outcome"}, "time to measure shares, the window included; `outcome` is `ok`, `incomplete` (a tenant or a link was not measured) or `error`"},
		{metricBECN, "counter", nil, "BECN received by the InfiniBand ports that tenants send from, during measurements of shares"},
		{metricCongestion, "counter", []string{"log"}, "events that the congestion logs of InfiniBand devices counted during measurements of shares; `log` is `adapter` (a CCTI reached its Trigger_Threshold) or `switch` (a packet was marked)"},
		{metricStrangers, "counter", nil, "events in congestion logs that no tenant of the plan explains: traffic of others on the fabric"},
		{metricUnread, "counter", nil, "ports and congestion logs of InfiniBand devices that were not readable, stood at their end, or do not count, during measurements of shares; the counts above lack them"},
		{metricSweep, "histogram", []string{"outcome"}, "time to read a batch of devices, at most 128, to look for drift; `error` when their fabric could not be reached"},
		{metricRead, "counter", []string{"reading"}, "devices that this manager read to look for drift, by what it found"},
		{metricStore, "histogram", []string{"kind"}, "time of a store transaction with the wait for its turn; `kind` is `write` or `read`"},
		{metricStoreErrors, "counter", []string{"kind", "reason"}, "store transactions that failed other than by the caller's fault; `reason` is `full`, `read-only`, `damaged`, `lost`, `timeout` or `other`"},
		{metricCensusAge, "gauge", nil, "age of the counts below, which are read from the store at most every 10 s"},
		{metricFabrics, "gauge", nil, "fabrics under management"},
		{metricTenants, "gauge", nil, "tenants of all fabrics"},
		{metricRollouts, "gauge", []string{"state"}, "rollouts in the store by state"},
		{metricOldestActive, "gauge", nil, "age of the oldest rollout that has not ended; absent when there is none"},
		{metricDevices, "gauge", []string{"state"}, "devices of rollouts that have not ended, by state"},
		{metricDrift, "gauge", nil, "devices last read back different from what is wanted, outside of rollouts"},
		{metricReadings, "gauge", []string{"reading"}, "devices of the plans in force, and those that have left one and are not verified clean yet, by what their latest reading found: `unknown`, `in-sync`, `drifted`, `unreachable` or `unsupported`"},
		{metricQuarantined, "gauge", nil, "devices that are left alone for changing again and again"},
		{metricJobs, "gauge", []string{"state"}, "jobs in the queue by River's state; `available` that grows means too few workers"},
		{metricSeries, "gauge", nil, "time series in memory; new ones beyond 200,000 are left out"},
		{metricSeriesBytes, "gauge", nil, "bytes of stored blocks of time series on disk"},
		{metricSeriesErrors, "counter", nil, "batches of samples that were not stored, or not completely"},
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
