package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
)

// invalid returns the error of a path or a value that can never be valid.
func invalid(err error, at gnmitree.Path) error {
	f := nicyang.Failure{Reason: nicyang.ReasonInvalid, Path: at.String(), Text: err.Error()}
	var bad *nicyang.PathError
	text := fmt.Sprintf("%s: %v", at, err)
	if errors.As(err, &bad) {
		f.Found, f.Allowed, text = bad.Found, bad.Allowed, err.Error()
	}
	return nicyang.StatusError(codes.InvalidArgument, text, []nicyang.Failure{f})
}

// problem returns one field that failed.
func problem(nic string, k nicparam.Key, err error) nicyang.Failure {
	f := nicyang.Failure{Reason: reason(err), Path: nicyang.ParamValue(nic, k).String(), NIC: nic, Key: k, Text: nic + ": " + err.Error()}
	var v *nicparam.ValueError
	if errors.As(err, &v) {
		f.Found, f.Allowed = v.Found, v.Allowed
	}
	return f
}

func reason(err error) nicyang.Reason {
	var v *nicparam.ValueError
	switch {
	case errors.Is(err, nicfiles.ErrNotRestored):
		return nicyang.ReasonNotRestored
	case errors.As(err, &v):
		return nicyang.ReasonInvalid
	case errors.Is(err, nicfiles.ErrAbsent):
		return nicyang.ReasonAbsent
	case errors.Is(err, nicfiles.ErrUnreadable):
		return nicyang.ReasonUnreadable
	case errors.Is(err, nicfiles.ErrRefused):
		return nicyang.ReasonRefused
	case errors.Is(err, nicfiles.ErrNotKept):
		return nicyang.ReasonOverridden
	}
	return nicyang.ReasonOther
}

// ofReceipt lists the fields of a set that failed.
func ofReceipt(nic string, receipt *nicfiles.Receipt, err error) []nicyang.Failure {
	var out []nicyang.Failure
	if receipt == nil {
		return ofCheck(nic, err)
	}
	words := map[nicfiles.Outcome]nicyang.Reason{
		nicfiles.Refused: nicyang.ReasonRefused, nicfiles.Clipped: nicyang.ReasonClipped, nicfiles.Ignored: nicyang.ReasonIgnored,
		nicfiles.Overridden: nicyang.ReasonOverridden, nicfiles.Unverified: nicyang.ReasonUnverified,
	}
	for i := range receipt.Fields {
		f := &receipt.Fields[i]
		if f.Err != nil {
			one := problem(nic, f.Key, f.Err)
			if w, ok := words[f.Outcome]; ok {
				one.Reason = w
			}
			if w := one.Reason; one.Found == "" && (w == nicyang.ReasonClipped || w == nicyang.ReasonIgnored || w == nicyang.ReasonOverridden) {
				one.Found, one.Allowed = fmt.Sprint(f.Got), fmt.Sprint(f.Want)
			}
			out = append(out, one)
		}
		if f.NotRestored != nil {
			out = append(out, problem(nic, f.Key, f.NotRestored))
		}
	}
	if len(out) == 0 {
		out = ofCheck(nic, err)
	}
	return out
}

// ofCheck lists the failures in an error about a whole set.
func ofCheck(nic string, err error) []nicyang.Failure {
	var out []nicyang.Failure
	for _, e := range flat(err) {
		f := problem(nic, nicparam.Key{}, e)
		f.Path = nicyang.NIC(nic).String()
		var v *nicparam.ValueError
		if errors.As(e, &v) {
			f.Key, f.Path = v.Key, nicyang.ParamValue(nic, v.Key).String()
		}
		out = append(out, f)
	}
	return out
}

// flat returns the single errors of joined errors, at any depth.
func flat(err error) []error {
	parts := leaves(err)
	if len(parts) < 2 {
		return parts
	}
	var out []error
	for _, p := range parts {
		if _, wraps := p.(interface{ Unwrap() []error }); wraps && strings.Contains(p.Error(), "\n") {
			out = append(out, flat(p)...)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// code returns the code of a Set that failed.
func code(ctx context.Context, failures []nicyang.Failure) codes.Code {
	has := map[nicyang.Reason]bool{}
	for _, f := range failures {
		has[f.Reason] = true
	}
	switch {
	case has[nicyang.ReasonNotRestored]:
		return codes.DataLoss
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case ctx.Err() != nil:
		return codes.Canceled
	case has[nicyang.ReasonInvalid]:
		return codes.InvalidArgument
	case has[nicyang.ReasonAbsent]:
		return codes.Unimplemented
	case has[nicyang.ReasonUnreadable]:
		return codes.Unavailable
	}
	return codes.Aborted
}

// failed returns the error of a Set.
func failed(ctx context.Context, failures []nicyang.Failure, how string) error {
	const most = 8 // fields in the text; the details have more
	words := make([]string, 0, most+1)
	for i, f := range failures {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(failures)-most))
			break
		}
		words = append(words, f.Text)
	}
	return nicyang.StatusError(code(ctx, failures), strings.Join(words, "; ")+"; "+how, failures)
}
