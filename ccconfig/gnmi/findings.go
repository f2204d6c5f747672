package gnmi

import (
	"fmt"
	"slices"
	"strings"
)

// Codes of findings.
const (
	FindingUnmapped    = "dscp-unmapped"     // nothing says what becomes of the DSCP
	FindingOtherQueue  = "dscp-other-queue"  // it leads to another queue
	FindingNoMap       = "port-map-missing"  // a port with a link has no row in PORT_QOS_MAP
	FindingPauseOff    = "pfc-off"           // pause is not on for the queue's priority
	FindingUnmarked    = "ecn-off"           // the queue refers to no profile that marks
	FindingGuarded     = "wred-guarded"      // the switch has refused new profiles
	FindingBroken      = "wred-broken"       // thresholds of a profile make no sense
	FindingLight       = "weight-small"      // the queue's weight is below half of an equal share
	FindingStarved     = "strict-above"      // strict queues can take the whole link from it
	FindingPeak        = "peak-rate"         // the queue or the port is limited below the link's rate
	FindingUnscheduled = "scheduler-none"    // the queue refers to no scheduler, others do
	FindingScheduler   = "scheduler-broken"  // values of a scheduler make no sense
	FindingDangling    = "reference-missing" // something refers to what is not there
	FindingTwice       = "queue-twice"       // two rows or schedulers are about the same queue
	FindingRow         = "queue-row-broken"  // the key of a row of QUEUE cannot be read
	FindingNameless    = "name-missing"      // the switch does not say what it is called
	FindingUnknown     = "not-told"          // the switch does not tell
	FindingMore        = "more"              // there are more findings than are listed
)

// maxFindings bounds what is listed of one switch.
const maxFindings = 256

// Finding is one thing that is not as a plan takes it for granted.
type Finding struct {
	Code  string   // one of the constants
	Ports []string // names of the ports that it is about; none: the switch
	Text  string   // in words, with where and what to do
}

// findings gathers ports with the same finding. The zero value is ready.
type findings struct {
	list []Finding
	at   map[[2]string]int  // place in the list, by code and text
	seen map[[3]string]bool // code, text and port
}

// add notes a finding about a port; an empty one is the switch.
func (f *findings) add(code, port, text string) {
	if f.at == nil {
		f.at, f.seen = map[[2]string]int{}, map[[3]string]bool{}
	}
	i, ok := f.at[[2]string{code, text}]
	switch {
	case ok:
	case len(f.list) >= maxFindings && code != FindingMore:
		f.add(FindingMore, "", fmt.Sprintf("there are more than these %d findings: mend these, and look again", maxFindings))
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

// told is the findings with their places said in words, for a switch of some ports.
func (f *findings) told(ports []string) []Finding {
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

// portList names the first few ports.
func portList(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:4], ", "), len(names)-4)
	}
	return strings.Join(names, ", ")
}
