package mad

import (
	"context"
	"fmt"
	"strings"
)

// Status values of subnet administration, in the class-specific high byte
// (IBTA vol. 1, 15.2.2).
const (
	StatusSANoResources       Status = 0x0100
	StatusSAInvalidRequest    Status = 0x0200
	StatusSANoRecords         Status = 0x0300
	StatusSATooManyRecords    Status = 0x0400
	StatusSAInvalidGID        Status = 0x0500
	StatusSAInsufficientComps Status = 0x0600
	StatusSADenied            Status = 0x0700
)

// statusCodeMask selects the three-bit error code of IBTA vol. 1, 13.4.7.
const statusCodeMask Status = 0x001c

// Busy reports whether the agent asks to repeat the request later.
func (s Status) Busy() bool { return s&StatusBusy != 0 }

// Code returns the status without the busy and redirect bits and without the
// class-specific byte: one of StatusBadVersion, StatusBadMethod, StatusBadMethodAttr,
// StatusInvalidAttrValue, or zero.
func (s Status) Code() Status { return s & statusCodeMask }

// Unsupported reports whether the agent does not support the class version, the method or the attribute, so that
// repeating the request is useless.
func (s Status) Unsupported() bool {
	c := s.Code()
	return c == StatusBadVersion || c == StatusBadMethod || c == StatusBadMethodAttr
}

// String returns the status in words and in hexadecimal: "busy (0x0001)".
func (s Status) String() string {
	if s == StatusOK {
		return "ok"
	}
	var words []string
	if s.Busy() {
		words = append(words, "busy")
	}
	if s&StatusRedirect != 0 {
		words = append(words, "redirect")
	}
	switch s.Code() {
	case 0:
	case StatusBadVersion:
		words = append(words, "class or version not supported")
	case StatusBadMethod:
		words = append(words, "method not supported")
	case StatusBadMethodAttr:
		words = append(words, "method and attribute not supported together")
	case StatusInvalidAttrValue:
		words = append(words, "invalid attribute value or modifier")
	default:
		words = append(words, "reserved code")
	}
	if w := classStatus(s & 0xff00); w != "" {
		words = append(words, w)
	}
	return fmt.Sprintf("%s (0x%04x)", strings.Join(words, ", "), uint16(s))
}

func classStatus(s Status) string {
	switch s {
	case 0:
		return ""
	case StatusSANoResources:
		return "no resources"
	case StatusSAInvalidRequest:
		return "invalid request"
	case StatusSANoRecords:
		return "no records"
	case StatusSATooManyRecords:
		return "too many records"
	case StatusSAInvalidGID:
		return "invalid GID"
	case StatusSAInsufficientComps:
		return "insufficient components"
	case StatusSADenied:
		return "denied"
	default:
		return "class-specific error"
	}
}

// Error names the target, the attribute and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %s: status %s", e.Target, AttrName(e.Class, AttrID(e.Attr)), e.Status)
}

// Call exchanges a request for its response and returns a non-zero status as a *StatusError, for errors.As. The response
// is valid in that case too.
func Call(ctx context.Context, t Transport, to Target, request *Packet) (Packet, error) {
	resp, err := t.Exchange(ctx, to, request)
	if err != nil {
		return resp, fmt.Errorf("%s: %s: %w", to, AttrName(request.Class(), request.Attr()), err)
	}
	if s := resp.Status(); s != StatusOK {
		return resp, &StatusError{Status: s, Class: request.Class(), Attr: uint16(request.Attr()), Target: to}
	}
	return resp, nil
}
