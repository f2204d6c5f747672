// Package setup makes of a configuration what the service begins with: certificates, sign-in at a provider, and the check that all files
// that it names can be used.
package setup

import (
	"errors"
	"fmt"
	"log/slog"

	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/service/control/identity"
	"fairlane/service/placement"
	"fairlane/service/site"
	"fairlane/service/store"
)

// CheckFiles is an error when the service could not begin with the files that a configuration names, the database among them.
// callback is that of OpenID.
func CheckFiles(c *config.Config, callback string) error {
	var faults []error
	err := store.CheckPath(c.Database)
	if err == nil {
		err = store.CheckHeader(c.Database)
	}
	if err != nil {
		faults = append(faults, fmt.Errorf("database: %w", err))
	}
	if faults = append(faults, ReadFiles(c, callback)...); faults == nil {
		return nil
	}
	return usage.Wrap(errors.Join(faults...))
}

// ReadFiles reads every file that a configuration names as the service would, and returns what is wrong with them.
func ReadFiles(c *config.Config, callback string) (faults []error) {
	add := func(key string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
	}
	_, err := config.DatabaseURL(c)
	add("database_password_file", err)
	token, err := config.Secret(c.AdminTokenFile)
	if err == nil && token != "" {
		if err = identity.CheckAdminToken(token); err != nil {
			err = fmt.Errorf("%s: %w", c.AdminTokenFile, err)
		}
	}
	add("admin_token_file", err)
	_, err = site.CCKey(c.CCKeyFile)
	add("cc_key_file", err)
	_, err = site.MKey(c.MKeyFile)
	add("m_key_file", err)
	_, err = site.ReadIBProfiles(c.IBProfiles)
	add("ib_profiles", err)
	_, err = placement.ReadManagers(c.SubnetManagers)
	add("subnet_managers", err)
	if c.TLS.CertFile != "" {
		_, err = Certificates(c.TLS, slog.New(slog.DiscardHandler))
		add("tls", err)
	}
	if _, err := OpenID(c, callback); err != nil {
		faults = append(faults, err) // it names its key
	}
	return faults
}
