package osmfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Code identifies a kind of problem; codes are stable.
type Code string

// Problems.
const (
	CodeMarkers          Code = "markers-broken"               // the marker comments do not pair up
	CodeEdited           Code = "edited-by-hand"               // Fairlane's part was changed since it was written
	CodeUnreadable       Code = "not-readable"                 // OpenSM would not understand a line
	CodeTooLarge         Code = "too-large"                    // a file over MaxSize
	CodeLineTooLong      Code = "line-too-long"                // OpenSM cuts the line in two
	CodeCCOn             Code = "congestion-control-on"        // OpenSM writes congestion-control settings itself
	CodeQoSOff           Code = "qos-off"                      // every partition's SL becomes 0
	CodeOverridden       Code = "option-overridden"            // a later line sets another value than ours
	CodePolicyNoDefault  Code = "policy-without-default"       // OpenSM refuses the whole policy
	CodePolicyDefault    Code = "policy-default-overrides"     // the policy's default overrides the partition's SL
	CodePolicyRule       Code = "policy-rule-overrides"        // another rule of the policy matches first
	CodePKeyConflict     Code = "pkey-conflict"                // a partition of the operator's has a tenant's P_Key
	CodePKeyUnnumbered   Code = "pkey-not-given"               // OpenSM numbers a partition itself
	CodeNoDefault        Code = "no-default-partition"         // every port becomes a limited member of 0x7fff
	CodePath             Code = "file-not-in-force"            // OpenSM reads another file
	CodeSLDropped        Code = "sl-dropped"                   // SL2VL maps the SL to VL 15
	CodeNoTurn           Code = "vl-without-turn"              // the arbitration tables never serve the VL
	CodeLanesApart       Code = "lanes-apart"                  // tenants do not share one marking queue
	CodeFirst            Code = "vl-goes-first"                // a lane has priority over those of tenants
	CodeRouting          Code = "routing-chooses-sl"           // the routing engine needs the SLs itself
	CodeNoPartition      Code = "tenant-without-partition"     // a tenant needs an SL and has no P_Key
	CodeTwoSLs           Code = "partition-two-sls"            // a partition can have only one SL
	CodeSLOutOfRange     Code = "sl-out-of-range"              // not 0 to 15
	CodeLanes            Code = "lanes-out-of-range"           // a table OpenSM cannot hold
	CodeNoMembers        Code = "partition-without-members"    // OpenSM deletes empty partitions
	CodeLanesDiffer      Code = "lanes-differ"                 // OpenSM has one table for all ports of a kind
	CodeNotMaster        Code = "not-master"                   // these files are not the master's
	CodeMasterUnknown    Code = "master-unknown"               // it is not known whether these files are the master's
	CodePolicyLinesFirst Code = "policy-rule-comes-after-ours" // a rule of the operator's is never reached
)

// Codes lists all codes, in the order of their names.
func Codes() []Code {
	return []Code{
		CodeCCOn, CodeEdited, CodePath, CodeLanesApart, CodeLanesDiffer, CodeLanes, CodeLineTooLong, CodeMarkers, CodeMasterUnknown, CodeNoDefault, CodeNotMaster,
		CodeUnreadable, CodeOverridden, CodeTwoSLs, CodeNoMembers, CodePKeyConflict, CodePKeyUnnumbered, CodePolicyDefault,
		CodePolicyLinesFirst, CodePolicyRule, CodePolicyNoDefault, CodeQoSOff, CodeRouting, CodeSLDropped, CodeSLOutOfRange, CodeNoPartition,
		CodeTooLarge, CodeFirst, CodeNoTurn,
	}
}

// ParseCode parses a code that a user names to force it.
func ParseCode(s string) (Code, error) {
	if slices.Contains(Codes(), Code(s)) {
		return Code(s), nil
	}
	names := make([]string, 0, len(Codes()))
	for _, c := range Codes() {
		names = append(names, string(c))
	}
	return "", fmt.Errorf("code %q: want one of %s", s, strings.Join(names, ", "))
}

// Problem is a fault of the files or of the desired state that would defeat it.
type Problem struct {
	Code    Code   `json:"code"`
	Warning bool   `json:"warning,omitempty"` // does not block an Apply
	Final   bool   `json:"final,omitempty"`   // cannot be overridden by force
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1; 0 is the file as a whole
	Text    string `json:"text"`           // what was found, in a sentence
	Remedy  string `json:"remedy"`         // what to do about it
}

// String returns "FILE:LINE: text; remedy".
func (p Problem) String() string { return p.Located() + "; " + p.Remedy }

// Located returns "FILE:LINE: text".
func (p Problem) Located() string {
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	case p.File != "":
		return p.File + ": " + p.Text
	}
	return p.Text
}

// Blocking lists the problems that block an Apply when the codes in force are accepted: it excludes warnings and, unless
// final, forced problems.
func Blocking(ps []Problem, force []Code) []Problem {
	var out []Problem
	for _, p := range ps {
		if !p.Warning && (p.Final || !slices.Contains(force, p.Code)) {
			out = append(out, p)
		}
	}
	return out
}

// sortProblems sorts problems by severity, file, line, code and text, and drops duplicates.
func sortProblems(ps []Problem) []Problem {
	slices.SortFunc(ps, func(a, b Problem) int {
		if a.Warning != b.Warning {
			if a.Warning {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(ps)
}
