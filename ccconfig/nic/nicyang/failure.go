package nicyang

import (
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"fairlane/ccconfig/nic/nicparam"
)

// Reason says in a word why a field of a Set failed.
type Reason string

// Reasons.
const (
	ReasonInvalid     Reason = "INVALID"      // can never be right
	ReasonAbsent      Reason = "ABSENT"       // the device, its driver or its firmware does not have it
	ReasonUnreadable  Reason = "UNREADABLE"   // is there and cannot be read
	ReasonRefused     Reason = "REFUSED"      // the device refused the write
	ReasonClipped     Reason = "CLIPPED"      // cut to the register's width
	ReasonIgnored     Reason = "IGNORED"      // accepted, and the earlier value was read back
	ReasonOverridden  Reason = "OVERRIDDEN"   // accepted, and something else was read back
	ReasonUnverified  Reason = "UNVERIFIED"   // accepted, and not read back
	ReasonNotRestored Reason = "NOT_RESTORED" // has neither its earlier value nor the wanted one
	ReasonOther       Reason = "OTHER"
)

// MaxFailures bounds the details of an error.
const MaxFailures = 64

// Failure is one field of a Set that failed: a detail of the error's gRPC status.
type Failure struct {
	Reason  Reason
	Path    string // of the node
	NIC     string
	Key     nicparam.Key // of a parameter; Name is empty otherwise
	Found   string
	Allowed string
	Text    string // in words
}

// StatusError makes the error of a Set that failed. Failures beyond MaxFailures are left out.
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

// Failures reads the details of an error that StatusError made, on either side of the wire; nothing for other errors.
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
		f.Key.Port, _ = strconv.Atoi(m["port"]) // 0 where there is none
		f.Key.Index, _ = strconv.Atoi(m["index"])
		out = append(out, f)
		if len(out) == MaxFailures {
			break
		}
	}
	return out
}
