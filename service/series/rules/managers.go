package rules

import "time"

// managers are the alerts about the managers of the service.
func managers() []Rule {
	return []Rule{
		alert("FairlaneDown", Page, 2*time.Minute, `up{job="fairlane"} == 0`),
		alert("FairlaneNotReady", Page, 2*time.Minute, "fairlane_ready == 0"),
		alert("FairlaneStoreErrors", Page, 5*time.Minute, "sum by (instance, reason) (rate(fairlane_store_errors_total[5m])) > 0"),
		alert("FairlaneServerErrors", Page, 10*time.Minute,
			`sum by (instance) (rate(fairlane_http_requests_total{status=~"5.."}[5m])) / sum by (instance) (rate(fairlane_http_requests_total[5m])) > 0.01`),
		alert("FairlaneSlow", Ticket, 15*time.Minute,
			`histogram_quantile(0.99, sum by (le, route) (rate(fairlane_http_request_duration_seconds_bucket{method="GET",route!~".*(discover|devices|shares|events.*)"}[10m]))) > 0.5`),
		alert("FairlaneRolloutStuck", Ticket, 5*time.Minute, "fairlane_rollout_oldest_active_seconds > 3600"),
		alert("FairlaneDrift", Ticket, 15*time.Minute, "fairlane_drifted_devices > 0"),
		alert("FairlaneQuarantine", Ticket, 5*time.Minute, "fairlane_quarantined_devices > 0"),
		alert("FairlaneJobsWait", Ticket, 10*time.Minute, `fairlane_jobs{state="available"} > 100`),
		alert("FairlaneSignInFailures", Ticket, 10*time.Minute, `sum(rate(fairlane_authentication_failures_total{kind=~"sign-in|locked"}[10m])) > 0.5`),
		alert("FairlaneSeriesNearLimit", Ticket, 15*time.Minute, "fairlane_series > 160000"), // 80 % of embedded.DefaultMaxSeries
		alert("FairlaneSeriesNotStored", Ticket, 10*time.Minute, "rate(fairlane_series_errors_total[5m]) > 0"),
	}
}
