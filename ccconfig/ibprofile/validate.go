package ibprofile

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
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
	Found   phrase.Text
	Want    phrase.Text
}

var _ phrase.Sentence = (*FieldError)(nil)

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
func (e *FieldError) Error() string { return e.Sentence().String() }

// Sentence returns the error for readers of any language.
func (e *FieldError) Sentence() phrase.Text {
	return phrase.Of("ibprofile.fault", "field", e.Where(), "found", e.Found, "want", e.Want)
}

// NewSet validates a site's own profiles and rules. The error joins values of type *FieldError. A profile's name must differ
// from the built-in names; rules may name both kinds of profiles.
func NewSet(own []Profile, rules []Rule) (*Set, error) {
	var c checker
	c.profile, c.rule = -1, -1
	if len(own) > MaxProfiles || len(rules) > MaxRules {
		return nil, &phrase.Error{Text: phrase.Of("ibprofile.too-many", "profiles", len(own), "rules", len(rules), "max_profiles", MaxProfiles, "max_rules", MaxRules)}
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
		c.want(taken[r.Profile], "profile", quoted(r.Profile), phrase.Of("ibprofile.want-name"))
		c.want(r.VendorID <= 0xffffff, "vendor_id", r.VendorID, phrase.Of("want.most", "max", "0xffffff"))
		c.want(len(r.DeviceIDs) == 0 || r.VendorID != 0, "device_ids", len(r.DeviceIDs), phrase.Of("ibprofile.want-vendor"))
		c.want(len(r.DeviceIDs) <= maxText, "device_ids", len(r.DeviceIDs), phrase.Of("want.most", "max", maxText))
		_, err := path.Match(r.Name, "")
		c.want(err == nil && len(r.Name) <= maxText, "name", quoted(r.Name), phrase.Of("ibprofile.want-pattern"))
		c.want(r.VendorID != 0 || r.Name != "", "", phrase.Of("ibprofile.neither"), phrase.Of("ibprofile.want-either"))
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func bytes(n int) phrase.Text { return phrase.Of("ibprofile.bytes", "n", n) }

func quoted(s string) string { return fmt.Sprintf("%.80q", s) }

type checker struct {
	errs          []error
	profile, rule int
}

func (c *checker) want(ok bool, field string, found any, want phrase.Text) {
	if !ok {
		said, is := found.(phrase.Text)
		if !is {
			said = phrase.Verbatim(fmt.Sprint(found))
		}
		c.errs = append(c.errs, &FieldError{Profile: c.profile, Rule: c.rule, Field: field, Found: said, Want: want})
	}
}

func (c *checker) between(field string, v, low, high int) {
	c.want(v >= low && v <= high, field, v, phrase.Of("want.range", "min", low, "max", high))
}

func (c *checker) one(p *Profile, taken map[string]bool) {
	c.want(validName(p.Name), "name", quoted(p.Name), phrase.Of("ibprofile.want-letters"))
	c.want(!taken[p.Name], "name", quoted(p.Name), phrase.Of("ibprofile.want-own-name"))
	c.want(len(p.Title) <= maxText, "title", bytes(len(p.Title)), phrase.Of("want.most", "max", maxText))
	c.want(p.Kind == Adapter || p.Kind == Switch, "kind", quoted(string(p.Kind)), phrase.Of("ibprofile.want-kind"))
	c.want(slices.Contains([]Basis{Standard, Source, Measured, Assumed}, p.Basis), "basis", quoted(string(p.Basis)), phrase.Of("list.or", "list", []Basis{Standard, Source, Measured}, "last", Assumed))
	c.want(p.Origin != "" && len(p.Origin) <= maxText, "origin", bytes(len(p.Origin)), phrase.Of("ibprofile.want-origin", "max", maxText))
	c.want(len(p.Assumptions) <= maxAssumptions, "assumptions", len(p.Assumptions), phrase.Of("want.most", "max", maxAssumptions))
	for _, a := range p.Assumptions {
		c.want(a != "" && len(a) <= maxText, "assumptions", bytes(len(a)), phrase.Of("ibprofile.want-assumptions", "max", maxText))
	}
	if p.Kind == Switch {
		c.marking(&p.Switch)
		c.want(!p.Layout.PackedCA && !p.Layout.LibibmadLog, "layouts", p.Layout.Names(), phrase.Of("ibprofile.want-switch-layout"))
		return
	}
	c.adapter(&p.Adapter)
	c.want(!p.Layout.WidePorts, "layouts", p.Layout.Names(), phrase.Of("ibprofile.want-adapter-layout"))
}

func (c *checker) adapter(a *AdapterModel) {
	c.between("table_entries", a.TableEntries, 16, ibcc.MaxTableEntries)
	c.between("max_shift", int(a.MaxShift), 0, ibcc.MaxShift)
	c.between("max_multiplier", int(a.MaxMultiplier), 1, ibcc.MaxMultiplier)
	c.want(a.TimerUnit >= quantity.Nanosecond && a.TimerUnit <= quantity.Millisecond, "timer_unit_ns", int64(a.TimerUnit/quantity.Nanosecond), phrase.Of("want.range", "min", 1, "max", 1_000_000))
	c.between("max_timer", int(a.MaxTimer), 1, 1<<16-1)
	c.between("max_increase", int(a.MaxIncrease), 1, 1<<8-1)
	c.want(a.PerQP || a.PerSL, "modes", phrase.Of("none"), phrase.Of("ibprofile.want-modes"))
}

func (c *checker) marking(s *SwitchModel) {
	c.between("queue_bytes", s.QueueBytes, 1<<10, maxQueue)
	c.want(s.Thresholds[0] == 0, "threshold_bytes", s.Thresholds[0], phrase.Of("ibprofile.want-code-0"))
	for i := 1; i < len(s.Thresholds); i++ {
		t := s.Thresholds[i]
		c.want(t >= 1 && t <= maxQueue && (i == 1 || t <= s.Thresholds[i-1]), fmt.Sprintf("threshold_bytes[%d]", i-1), t,
			phrase.Of("ibprofile.want-threshold", "max", maxQueue))
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
