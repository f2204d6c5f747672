package config

import (
	"net/url"

	"fairlane/internal/phrase"
)

// DatabaseURL returns the configured database, with the password from its file added to the URL. Never print it; use
// config.ShownDatabase for that.
func DatabaseURL(c *Config) (string, error) {
	password, err := Secret(c.DatabasePasswordFile)
	if err != nil || password == "" {
		return c.Database, err
	}
	u, err := url.Parse(c.Database)
	if err != nil { // the error would repeat the URL
		return "", fault(phrase.Of("config.database-unreadable"))
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}
