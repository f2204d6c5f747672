package osmfile

import (
	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// Observation is the state of the subnet manager at one moment.
type Observation struct {
	GUID     ident.GUID `json:"guid"` // of the master's port
	LID      ident.LID  `json:"lid"`
	Activity uint32     `json:"activity"` // SMInfo's ActCount: counts up while the process runs
	Priority uint8      `json:"priority"` // 0 to 15
	State    uint8      `json:"state"`    // as in SMInfo: 3 is master
	// Process identifies the run of the process, such as by its id and start time; empty when unknown.
	Process string `json:"process,omitempty"`
	// NoProcess is the reason why Process is unknown.
	NoProcess string `json:"no_process,omitempty"`
	// Options, Partitions and Policy are digests of the files; empty when not read.
	Options    string `json:"options,omitempty"`
	Partitions string `json:"partitions,omitempty"`
	Policy     string `json:"policy,omitempty"`
	// Foreign means that the master is another subnet manager than the one with these files and this process. The
	// master's own files and process are unknown.
	Foreign bool `json:"foreign,omitempty"`
	// Own is the port of the subnet manager with these files and this process; 0 when it is unknown, for the reason in
	// UnknownMaster.
	Own           ident.GUID `json:"own,omitempty"`
	UnknownMaster string     `json:"unknown_master,omitempty"`
	// WritesCC means that the options contain congestion_control TRUE.
	WritesCC bool `json:"writes_cc"`
}

// CauseCode is a reason why the settings of devices may differ from those written.
type CauseCode string

// Causes.
const (
	CauseNone           CauseCode = ""                // the subnet manager did not change
	CauseHandover       CauseCode = "sm-handover"     // another subnet manager is master
	CauseRestarted      CauseCode = "sm-restarted"    // the subnet manager restarted
	CauseOptionsChanged CauseCode = "options-changed" // its options file changed
	CauseOther          CauseCode = "other"           // it writes congestion control for no visible reason
)

// Cause describes what happened to the subnet manager between two observations.
type Cause struct {
	Code CauseCode `json:"code,omitempty"`
	Text string    `json:"text,omitempty"` // Said in English
	// Also lists further changes in English, such as a changed file in addition to a restart.
	Also []string `json:"also,omitempty"`

	Said     phrase.Text   `json:"-"`
	AlsoSaid []phrase.Text `json:"-"` // as Also
}

// CauseOf compares two observations of one fabric, the earlier first. A lower activity count means a restart, unless it
// was about to overflow.
func CauseOf(before, after Observation) Cause {
	c := causeOf(before, after)
	c.Text, c.Also = c.Said.String(), phrase.English(c.AlsoSaid)
	return c
}

func causeOf(before, after Observation) (c Cause) {
	var writes phrase.Text
	if after.WritesCC {
		writes = phrase.Of("cause.wrote")
	}
	changed := func(a, b string) bool { return a != "" && b != "" && a != b }
	if changed(before.Partitions, after.Partitions) {
		c.AlsoSaid = append(c.AlsoSaid, phrase.Of("cause.partitions"))
	}
	if changed(before.Policy, after.Policy) {
		c.AlsoSaid = append(c.AlsoSaid, phrase.Of("cause.policy"))
	}
	options := changed(before.Options, after.Options)
	switch {
	case before.GUID != 0 && after.GUID != 0 && before.GUID != after.GUID:
		if after.Foreign {
			writes = phrase.Of("cause.options-unknown")
		}
		c.Code, c.Said = CauseHandover, phrase.Joined(phrase.Of("cause.handover", "from", before.GUID, "to", after.GUID), writes)
	case restarted(before, after):
		c.Code, c.Said = CauseRestarted, phrase.Joined(phrase.Of("cause.restarted", "guid", after.GUID), writes)
	case options:
		c.Code, c.Said = CauseOptionsChanged, phrase.Joined(phrase.Of("cause.opensm-options"), writes)
		return c
	case after.WritesCC:
		c.Code, c.Said = CauseOther, phrase.Of("cause.writes")
	}
	if options {
		c.AlsoSaid = append(c.AlsoSaid, phrase.Of("cause.options-too"))
	}
	return c
}

func restarted(before, after Observation) bool {
	if before.Process != "" && after.Process != "" {
		return before.Process != after.Process
	}
	const overflow = 1 << 31
	return after.Activity < before.Activity && before.Activity-after.Activity < overflow
}
