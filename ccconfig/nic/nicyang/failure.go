package nicyang

import (
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"fairlane/ccconfig/nic/nicparam"
)

// Reason is the reason for which a field of a Set failed.
type Reason string

// Reasons.
const (
	ReasonInvalid     Reason = "INVALID"      // the value can never be valid
	ReasonAbsent      Reason = "ABSENT"       // the device, its driver or its firmware does not have it
	ReasonUnreadable  Reason = "UNREADABLE"   // exists but cannot be read
	ReasonRefused     Reason = "REFUSED"      // the device rejected the write
	ReasonClipped     Reason = "CLIPPED"      // truncated to the register's width
	ReasonIgnored     Reason = "IGNORED"      // accepted, but the earlier value was read back
	ReasonOverridden  Reason = "OVERRIDDEN"   // accepted, but a different value was read back
	ReasonUnverified  Reason = "UNVERIFIED"   // accepted, but could not be read back
	ReasonNotRestored Reason = "NOT_RESTORED" // has neither its earlier value nor the desired one
	ReasonOther       Reason = "OTHER"
)

// MaxFailures is the largest number of details of an error.
const MaxFailures = 64

// Failure is one failed field of a Set: a detail of the error's gRPC status.
type Failure struct {
	Reason  Reason
	Path    string // of the node
	NIC     string
	Key     nicparam.Key // if the field is a parameter; otherwise Name is empty
	Found   string
	Allowed string
	Text    string // explanation
}

// StatusError returns the error of a failed Set. Failures beyond MaxFailures are omitted.
func StatusError(code codes.Code, text string, failures []Failure) error {
	s := status.New(code, text)
	var details []protoadapt.MessageV1
	for _, f := range failures[:min(len(failures), MaxFailures)] {
		m := map[string]string{"path": f.Path, "text": f.Text}
		for k, v := range map[string]string{"nic": f.NIC, "name": f.Key.Name, "found": f.Found, "allowed": f.Allowed} {
			if v != "" {
				m[k] = v
			}
		}
		if f.Key.Name != "" {
			m["port"], m["index"] = strconv.Itoa(f.Key.Port), strconv.Itoa(f.Key.Index)
		}
		details = append(details, &errdetails.ErrorInfo{Reason: string(f.Reason), Domain: Module, Metadata: m})
	}
	with, err := s.WithDetails(details...)
	if err != nil { // only for code OK
		return s.Err()
	}
	return with.Err()
}

// Failures returns the details of an error from StatusError, on either end of the connection; nil for other errors.
func Failures(err error) []Failure {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	var out []Failure
	for _, d := range s.Details() {
		i, ok := d.(*errdetails.ErrorInfo)
		if !ok || i.GetDomain() != Module {
			continue
		}
		m := i.GetMetadata()
		f := Failure{Reason: Reason(i.GetReason()), Path: m["path"], NIC: m["nic"], Found: m["found"], Allowed: m["allowed"], Text: m["text"]}
		f.Key.Name = m["name"]
		f.Key.Port, _ = strconv.Atoi(m["port"]) // 0 if there is none
		f.Key.Index, _ = strconv.Atoi(m["index"])
		out = append(out, f)
		if len(out) == MaxFailures {
			break
		}
	}
	return out
}
