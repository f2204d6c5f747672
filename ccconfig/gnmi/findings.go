package gnmi

import (
	"fmt"
	"slices"
	"strings"
)

// Codes of findings.
const (
	FindingUnmapped        = "dscp-unmapped"     // no map contains the DSCP
	FindingOtherQueue      = "dscp-other-queue"  // the DSCP maps to a different queue
	FindingNoMap           = "port-map-missing"  // a port with a link has no row in PORT_QOS_MAP
	FindingPauseOff        = "pfc-off"           // pause is disabled for the queue's priority
	FindingPauseOn         = "pfc-on"            // pause is enabled for the queue of a lossy class
	FindingHeadroom        = "headroom-short"    // a lossless priority group has too little headroom
	FindingOtherGroup      = "group-other"       // the class is in another priority group than its pause
	FindingLossyQueue      = "queue-lossy"       // the queue of a lossless class has a buffer that drops packets
	FindingShared          = "dscp-shared"       // the queue also has DSCPs that are of no class of the plan
	FindingTrust           = "trust-mixed"       // ports classify packets by different fields
	FindingUnproven        = "ecn-unproven"      // whether the queue marks depends on the ASIC, and no counter shows marks
	FindingVOQ             = "voq-uneven"        // ASICs with virtual output queues mark a queue differently
	FindingUnmarked        = "ecn-off"           // the queue has no profile that marks
	FindingGuarded         = "wred-guarded"      // the switch has rejected new profiles
	FindingBroken          = "wred-broken"       // a profile has invalid thresholds
	FindingLight           = "weight-small"      // the queue's weight is below half of an equal share
	FindingStarved         = "strict-above"      // strict queues can take the whole link
	FindingPeak            = "peak-rate"         // the queue or the port is limited below the link's rate
	FindingUnscheduled     = "scheduler-none"    // the queue has no scheduler, but others do
	FindingScheduler       = "scheduler-broken"  // a scheduler has invalid values
	FindingIdle            = "weight-idle"       // a weight of the configuration is not in force
	FindingDangling        = "reference-missing" // a reference to a missing row
	FindingTwice           = "queue-twice"       // two rows or schedulers for the same queue
	FindingRow             = "queue-row-broken"  // invalid key of a row of QUEUE
	FindingNameless        = "name-missing"      // the switch does not report its name
	FindingUnknown         = "not-told"          // the switch does not report the value
	FindingHeadroomUnknown = "headroom-unknown"  // the switch does not report its buffers
	FindingMore            = "more"              // further findings are not listed
)

// maxFindings is the largest number of findings listed for one switch.
const maxFindings = 256

// Finding is one deviation from a plan's assumptions.
type Finding struct {
	Code  string   // one of the constants
	Ports []string // names of the affected ports; empty means the switch
	Text  string   // explanation, with location and remedy
}

// findings groups ports with the same finding. The zero value is ready for use.
type findings struct {
	list []Finding
	at   map[[2]string]int  // index in the list, by code and text
	seen map[[3]string]bool // code, text and port
}

// add adds a finding for a port; an empty name means the switch.
func (f *findings) add(code, port, text string) {
	if f.at == nil {
		f.at, f.seen = map[[2]string]int{}, map[[3]string]bool{}
	}
	i, ok := f.at[[2]string{code, text}]
	switch {
	case ok:
	case len(f.list) >= maxFindings && code != FindingMore:
		f.add(FindingMore, "", fmt.Sprintf("there are more than these %d findings: fix these, and check again", maxFindings))
		return
	default:
		i = len(f.list)
		f.list = append(f.list, Finding{Code: code, Text: text})
		f.at[[2]string{code, text}] = i
	}
	if k := [3]string{code, text, port}; port != "" && !f.seen[k] {
		f.seen[k] = true
		f.list[i].Ports = append(f.list[i].Ports, port)
	}
}

// listed returns the findings with the list of their ports in the text, for a switch with the given ports.
func (f *findings) listed(ports []string) []Finding {
	for i := range f.list {
		one := &f.list[i]
		switch {
		case len(one.Ports) == 0:
		case len(ports) > 1 && slices.Equal(one.Ports, ports):
			one.Text = "on all ports " + one.Text
		default:
			one.Text = fmt.Sprintf("on %s %s", portList(one.Ports), one.Text)
		}
	}
	return f.list
}

// portList lists the first few ports.
func portList(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:4], ", "), len(names)-4)
	}
	return strings.Join(names, ", ")
}
