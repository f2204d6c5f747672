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

// Settings are the settings for reaching fabrics that a reload may change. Running operations keep those with which
// they began.
type Settings struct {
	CCKey    mad.Key
	MKey     mad.Key
	models   deviceModels
	Managers placement.Managers  // by fabric, those that Fairlane configures
	Sources  *config.SourceRules // allowed for fabrics; nil allows all
}

// ReadSettings reads the settings from a configuration and the files that it names. Its error is a usage error that
// names every faulty key; valid settings are returned with it.
func ReadSettings(c *config.Config) (s Settings, err error) {
	var faults []error
	add := func(key string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
	}
	s.CCKey, err = CCKey(c.CCKeyFile)
	add("cc_key_file", err)
	s.MKey, err = MKey(c.MKeyFile)
	add("m_key_file", err)
	s.models.old, err = readCCLayouts(c.CCLayouts)
	add("cc_layouts", err)
	s.models.set, err = ReadIBProfiles(c.IBProfiles)
	add("ib_profiles", err)
	s.models.chooser = s.models.set.Chooser()
	s.Managers, err = placement.ReadManagers(c.SubnetManagers)
	add("subnet_managers", err)
	s.Sources, err = config.NewSourceRules(c.Discovery.Sources)
	add("discovery.sources", err)
	return s, usage.Wrap(errors.Join(faults...))
}

// Changed names the keys whose settings differ from those before.
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

// New returns the access to fabrics with the given settings.
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

// SourceAllowed returns an error if the configuration does not allow a source.
func (p *Access) SourceAllowed(source string) error { return p.Settings().Sources.Check(source) }

// IBProfiles returns the profiles of InfiniBand devices in force.
func (p *Access) IBProfiles() *ibprofile.Set { return p.Settings().models.set }

// ReadIBProfiles reads a site's profiles of InfiniBand devices; without a file, only the built-in ones exist.
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
