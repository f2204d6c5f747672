package rules

import (
	"fmt"
	"time"

	"fairlane/service/series"
)

// Conditions of the alert about congestion control: a loop is judged only under load, in samples of the time.
const (
	loopWindow       = "10m"
	loopMeasurements = 3 // fewest measurements under load
)

// fabrics are the alerts about fabrics and their links.
func fabrics() []Rule {
	return []Rule{
		alert("FairlaneFabricNotMeasured", Ticket, 5*time.Minute, fmt.Sprintf("max by (fabric) (%s) == 0", series.Coverage)),
		alert("FairlaneCongestionControlDead", Ticket, 0, fmt.Sprintf(
			"max by (fabric) (max_over_time(%s[%s])) == 0 and on (fabric) sum by (fabric) (count_over_time(%s[%s])) >= %d",
			series.FabricLoop, loopWindow, series.FabricLoop, loopWindow, loopMeasurements)),
		alert("FairlaneLinkDown", Ticket, 2*time.Minute, fmt.Sprintf("min by (fabric, link) (%s) == 0", series.LinkUp)),
	}
}
