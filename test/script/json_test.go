package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// minUtilisation is the minimum link utilisation, relative to that before, that the demo guarantees.
const minUtilisation = 0.97

// maxShareError is the maximum share error that the demo guarantees, by plane.
func maxShareError(plane string) float64 {
	return map[string]float64{"ib": 0.05, "roce": 0.10, "wrcc": 0.01}[plane]
}

// demoPlane is one element of the output of `fairlane demo --once --json`. Pointers detect missing fields.
type demoPlane struct {
	Plane             *string        `json:"plane"`
	Tenants           []demoTenant   `json:"tenants"`
	UtilisationBefore *float64       `json:"utilisation_before"`
	Utilisation       *float64       `json:"utilisation"`
	MaxShareError     *float64       `json:"max_share_error"`
	Plan              *string        `json:"plan"`
	Rollout           map[string]any `json:"rollout"`
	Findings          *[]any         `json:"findings"`
}

type demoTenant struct {
	Name       *string  `json:"name"`
	Weight     *float64 `json:"weight"`
	Flows      *int     `json:"flows"`
	Entitled   *int64   `json:"entitled_bps"`
	Before     *int64   `json:"before_bps"`
	Delivered  *int64   `json:"delivered_bps"`
	ShareError *float64 `json:"share_error"`
}

// checkDemo is "checkdemo FILE TENANTS [PLANE [PLANES]]": FILE is the output of a demo with that many tenants on a
// plane (default ib), among that many planes (default 1). It reports every fault and prints the main figures.
func checkDemo(args []string) int {
	if len(args) < 2 || len(args) > 4 {
		return fail("usage: checkdemo FILE TENANTS [PLANE [PLANES]]")
	}
	plane, count := "ib", "1"
	if len(args) > 2 {
		plane = args[2]
	}
	if len(args) > 3 {
		count = args[3]
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fail(err.Error())
	}
	want, err := strconv.Atoi(args[1])
	if err != nil {
		return fail(err.Error())
	}
	var planes []demoPlane
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&planes); err != nil {
		return fail(fmt.Sprintf("%s: %v", args[0], err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return fail("more than one JSON value on standard output")
	}
	if strconv.Itoa(len(planes)) != count {
		return fail(fmt.Sprintf("%d planes, want %s", len(planes), count))
	}
	at := slices.IndexFunc(planes, func(p demoPlane) bool { return p.Plane != nil && *p.Plane == plane })
	if at < 0 {
		return fail("no plane " + plane)
	}
	p := &planes[at]
	if wrong := p.wrong(want); len(wrong) > 0 {
		return fail(strings.Join(wrong, "\n"))
	}
	fmt.Printf("max_share_error %.4f, utilisation %.4f of %.4f before\n", *p.MaxShareError, *p.Utilisation, *p.UtilisationBefore)
	return 0
}

func fail(why string) int {
	fmt.Fprintln(os.Stderr, why)
	return 1
}

func (p *demoPlane) wrong(tenants int) []string {
	var out []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	if p.Plane == nil || p.UtilisationBefore == nil || p.Utilisation == nil || p.MaxShareError == nil || p.Plan == nil || p.Rollout == nil || p.Findings == nil {
		return []string{fmt.Sprintf("a field of the contract is missing: %+v", *p)}
	}
	check(len(*p.Plan) == 64, "plan is %q, want 64 hexadecimal digits", *p.Plan)
	check(p.Rollout["state"] == "succeeded", "rollout is %v", p.Rollout)
	check(len(p.Tenants) == tenants, "%d tenants, want %d", len(p.Tenants), tenants)
	check(*p.MaxShareError <= maxShareError(*p.Plane), "max_share_error %.4f is above %.2f", *p.MaxShareError, maxShareError(*p.Plane))
	check(*p.Utilisation >= minUtilisation**p.UtilisationBefore, "utilisation %.4f is below %.2f of %.4f", *p.Utilisation, minUtilisation, *p.UtilisationBefore)
	check(*p.UtilisationBefore > 0.9, "utilisation_before %.4f: the link was not contended", *p.UtilisationBefore)
	worst := 0.0
	for i, t := range p.Tenants {
		if t.Name == nil || t.Weight == nil || t.Flows == nil || t.Entitled == nil || t.Before == nil || t.Delivered == nil || t.ShareError == nil {
			return append(out, fmt.Sprintf("tenant %d: a field of the contract is missing", i))
		}
		off := math.Abs(float64(*t.Delivered)-float64(*t.Entitled)) / float64(*t.Entitled)
		worst = max(worst, *t.ShareError)
		check(*t.Weight > 0 && *t.Flows > 0 && *t.Entitled > 0 && *t.Before > 0, "tenant %s: weight %g, %d flows, entitled %d, before %d",
			*t.Name, *t.Weight, *t.Flows, *t.Entitled, *t.Before)
		check(math.Abs(off-*t.ShareError) < 1e-6, "tenant %s: share_error %g, but its rates give %g", *t.Name, *t.ShareError, off)
	}
	check(math.Abs(worst-*p.MaxShareError) < 1e-6, "max_share_error %g, but the worst tenant has %g", *p.MaxShareError, worst)
	return out
}

// jsonGet is "jsonget FILE PATH": it prints the value at a path such as 0.tenants.1.name; strings without quotes.
func jsonGet(args []string) int {
	if len(args) != 2 {
		return fail("usage: jsonget FILE PATH")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fail(err.Error())
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return fail(fmt.Sprintf("%s: %v", args[0], err))
	}
	for step := range strings.SplitSeq(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			y, ok := x[step]
			if !ok {
				return fail(fmt.Sprintf("%s: no %q", args[1], step))
			}
			v = y
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(x) {
				return fail(fmt.Sprintf("%s: no element %q of %d", args[1], step, len(x)))
			}
			v = x[i]
		default:
			return fail(fmt.Sprintf("%s: nothing under %q", args[1], step))
		}
	}
	fmt.Println(v)
	return 0
}
