package site

import (
	"errors"
	"fmt"
	"reflect"

	"fairlane/ccconfig/ibprofile"
	"fairlane/ccconfig/ibprofile/profilefile"
	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/service/placement"
	"fairlane/subnet/mad"
)

// Settings are the settings for reaching fabrics that a reload may change. Operations under way keep those they began with.
type Settings struct {
	CCKey    mad.Key
	MKey     mad.Key
	models   deviceModels
	Managers placement.Managers  // by fabric, those that Fairlane configures
	Sources  *config.SourceRules // allowed for fabrics; nil allows all
}

// ReadSettings reads the files that a configuration names for them. Its errors are usage errors.
func ReadSettings(c *config.Config) (s Settings, err error) {
	var errs [5]error
	s.CCKey, errs[0] = CCKey(c.CCKeyFile)
	s.MKey, errs[1] = MKey(c.MKeyFile)
	s.models, errs[2] = newDeviceModels(c.IBProfiles, c.CCLayouts)
	if s.Managers, err = placement.ReadManagers(c.SubnetManagers); err != nil {
		errs[3] = fmt.Errorf("subnet_managers: %w", err)
	}
	if s.Sources, err = config.NewSourceRules(c.Discovery.Sources); err != nil {
		errs[4] = fmt.Errorf("discovery.sources: %w", err)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return s, usage.Wrap(err)
	}
	return s, nil
}

// Changed names the keys whose settings differ from before.
func (s *Settings) Changed(before *Settings) []string {
	keys := []string{}
	for _, x := range []struct {
		key  string
		same bool
	}{
		{"cc_key_file", s.CCKey == before.CCKey}, {"m_key_file", s.MKey == before.MKey},
		{"cc_layouts", reflect.DeepEqual(s.models.old, before.models.old)},
		{"ib_profiles", reflect.DeepEqual(s.models.set, before.models.set)},
		{"subnet_managers", reflect.DeepEqual(s.Managers, before.Managers)},
		{"discovery.sources", reflect.DeepEqual(s.Sources, before.Sources)},
	} {
		if !x.same {
			keys = append(keys, x.key)
		}
	}
	return keys
}

// New reaches fabrics with the given settings.
func New(s Settings) *Access { return &Access{current: s} }

// Settings returns the settings in force.
func (p *Access) Settings() Settings {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.current
}

// Reset replaces the settings in force.
func (p *Access) Reset(s Settings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = s
}

// SourceAllowed is an error when the configuration does not allow a source.
func (p *Access) SourceAllowed(source string) error { return p.Settings().Sources.Check(source) }

// IBProfiles are the profiles of InfiniBand devices in force.
func (p *Access) IBProfiles() *ibprofile.Set { return p.Settings().models.set }

// ReadIBProfiles reads a site's profiles of InfiniBand devices; of no file there are the built-in ones alone.
func ReadIBProfiles(path string) (*ibprofile.Set, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // a nil set is the built-in profiles
	}
	s, err := profilefile.Load(path)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return s, nil
}
