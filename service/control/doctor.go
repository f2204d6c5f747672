package control

import (
	"context"
	"time"

	"fairlane/internal/phrase"
)

// DoctorStatus rates what a check found.
type DoctorStatus string

// Statuses of a finding, from best to worst.
const (
	DoctorOK      DoctorStatus = "ok"
	DoctorUnknown DoctorStatus = "unknown" // could not be determined from here
	DoctorWarning DoctorStatus = "warning"
	DoctorFault   DoctorStatus = "fault"
)

// DoctorFinding is the result of one check.
type DoctorFinding struct {
	Check   string // "config", "store", "series", "clock", "keys", "tls", "port", "fabric", "sm", "jobs", "peer", "service" or "portal"
	Subject string // file, fabric, manager or address; empty if there is only one
	Status  DoctorStatus
	Code    string      // stable: the id of Found without "doctor."
	Found   phrase.Text // what was found
	Do      phrase.Text // remedy of a warning or a fault; otherwise zero
}

// Diagnosis are the findings of one run of all checks.
type Diagnosis struct {
	At       time.Time // begin of the run, in UTC
	Findings []DoctorFinding
}

// Doctor checks what the service needs. It changes nothing.
type Doctor interface {
	// Examine runs all checks. A check that the context ends is itself a finding.
	Examine(ctx context.Context) []DoctorFinding
}
