package ibprofile

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
)

// Limits of a set.
const (
	MaxProfiles    = 256
	MaxRules       = 1024
	maxText        = 500
	maxAssumptions = 16
	maxQueue       = 1 << 30 // bytes
)

// FieldError reports a field of a profile or rule with an invalid value.
type FieldError struct {
	Profile int    // index of the profile, or -1
	Rule    int    // index of the rule, or -1
	Field   string // such as "table_entries"; empty means the whole profile or rule
	Found   string
	Want    string
}

// Where returns the location of the field in a file, such as "profiles[0].max_timer".
func (e *FieldError) Where() string {
	at := fmt.Sprintf("profiles[%d]", e.Profile)
	if e.Rule >= 0 {
		at = fmt.Sprintf("assign[%d]", e.Rule)
	}
	if e.Field != "" {
		at += "." + e.Field
	}
	return at
}

// Error names the field, the value found and the allowed values.
func (e *FieldError) Error() string { return e.Where() + ": found " + e.Found + ", want " + e.Want }

// NewSet validates a site's own profiles and rules. The error joins values of type *FieldError. A profile's name must differ
// from the built-in names; rules may name both kinds of profiles.
func NewSet(own []Profile, rules []Rule) (*Set, error) {
	var c checker
	c.profile, c.rule = -1, -1
	if len(own) > MaxProfiles || len(rules) > MaxRules {
		return nil, fmt.Errorf("%d profiles and %d rules: want at most %d and %d", len(own), len(rules), MaxProfiles, MaxRules)
	}
	s := &Set{own: own, rules: rules}
	taken := map[string]bool{}
	for _, p := range builtin() {
		taken[p.Name] = true
	}
	for i := range own {
		c.profile = i
		c.one(&own[i], taken)
		taken[own[i].Name] = true
	}
	c.profile = -1
	for i := range rules {
		c.rule = i
		r := &rules[i]
		c.want(taken[r.Profile], "profile", quoted(r.Profile), "the name of a profile of this file or of a built-in one")
		c.want(r.VendorID <= 0xffffff, "vendor_id", r.VendorID, "at most 0xffffff")
		c.want(len(r.DeviceIDs) == 0 || r.VendorID != 0, "device_ids", len(r.DeviceIDs), "them with vendor_id only: device IDs are the vendor's own")
		c.want(len(r.DeviceIDs) <= maxText, "device_ids", len(r.DeviceIDs), fmt.Sprintf("at most %d", maxText))
		_, err := path.Match(r.Name, "")
		c.want(err == nil && len(r.Name) <= maxText, "name", quoted(r.Name), "a pattern for names of nodes, such as old-*")
		c.want(r.VendorID != 0 || r.Name != "", "", "neither vendor_id nor name", "one of them")
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func quoted(s string) string { return fmt.Sprintf("%.80q", s) }

type checker struct {
	errs          []error
	profile, rule int
}

func (c *checker) want(ok bool, field string, found any, want string) {
	if !ok {
		c.errs = append(c.errs, &FieldError{Profile: c.profile, Rule: c.rule, Field: field, Found: fmt.Sprint(found), Want: want})
	}
}

func (c *checker) between(field string, v, low, high int) {
	c.want(v >= low && v <= high, field, v, fmt.Sprintf("%d to %d", low, high))
}

func (c *checker) one(p *Profile, taken map[string]bool) {
	c.want(validName(p.Name), "name", quoted(p.Name), "1 to 63 of a-z, 0-9 and -")
	c.want(!taken[p.Name], "name", quoted(p.Name), "a name that no other profile has, built-in ones included")
	c.want(len(p.Title) <= maxText, "title", fmt.Sprintf("%d bytes", len(p.Title)), fmt.Sprintf("at most %d", maxText))
	c.want(p.Kind == Adapter || p.Kind == Switch, "kind", quoted(string(p.Kind)), "adapter or switch")
	c.want(slices.Contains([]Basis{Standard, Source, Measured, Assumed}, p.Basis), "basis", quoted(string(p.Basis)), "standard, source, measured or assumed")
	c.want(p.Origin != "" && len(p.Origin) <= maxText, "origin", fmt.Sprintf("%d bytes", len(p.Origin)), fmt.Sprintf("where the values come from, in 1 to %d bytes", maxText))
	c.want(len(p.Assumptions) <= maxAssumptions, "assumptions", len(p.Assumptions), fmt.Sprintf("at most %d", maxAssumptions))
	for _, a := range p.Assumptions {
		c.want(a != "" && len(a) <= maxText, "assumptions", fmt.Sprintf("%d bytes", len(a)), fmt.Sprintf("sentences of 1 to %d bytes", maxText))
	}
	if p.Kind == Switch {
		c.marking(&p.Switch)
		c.want(!p.Layout.PackedCA && !p.Layout.LibibmadLog, "layouts", p.Layout.Names(), "wide-ports alone on a switch")
		return
	}
	c.adapter(&p.Adapter)
	c.want(!p.Layout.WidePorts, "layouts", p.Layout.Names(), "libibmad-log and packed-ca alone on an adapter")
}

func (c *checker) adapter(a *AdapterModel) {
	c.between("table_entries", a.TableEntries, 16, ibcc.MaxTableEntries)
	c.between("max_shift", int(a.MaxShift), 0, ibcc.MaxShift)
	c.between("max_multiplier", int(a.MaxMultiplier), 1, ibcc.MaxMultiplier)
	c.want(a.TimerUnit >= quantity.Nanosecond && a.TimerUnit <= quantity.Millisecond, "timer_unit_ns", int64(a.TimerUnit/quantity.Nanosecond), "1 to 1000000")
	c.between("max_timer", int(a.MaxTimer), 1, 1<<16-1)
	c.between("max_increase", int(a.MaxIncrease), 1, 1<<8-1)
	c.want(a.PerQP || a.PerSL, "modes", "none", "qp, sl or both")
}

func (c *checker) marking(s *SwitchModel) {
	c.between("queue_bytes", s.QueueBytes, 1<<10, maxQueue)
	c.want(s.Thresholds[0] == 0, "threshold_bytes", s.Thresholds[0], "code 0 never marks")
	for i := 1; i < len(s.Thresholds); i++ {
		t := s.Thresholds[i]
		c.want(t >= 1 && t <= maxQueue && (i == 1 || t <= s.Thresholds[i-1]), fmt.Sprintf("threshold_bytes[%d]", i-1), t,
			fmt.Sprintf("1 to %d, and no more than the one before it", maxQueue))
	}
	c.between("min_marking_rate", int(s.MinMarkingRate), 1, 1<<16-1)
	c.between("max_marking_rate", int(s.MaxMarkingRate), int(max(1, s.MinMarkingRate)), 1<<16-1)
}

func validName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 63
}
