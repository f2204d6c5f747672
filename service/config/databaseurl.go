package config

import (
	"net/url"

	"fairlane/internal/phrase"
)

// DatabaseURL is the database that a configuration names, with the password of its file put into the URL. It is
// never printed: config.ShownDatabase makes it fit for that.
func DatabaseURL(c *Config) (string, error) {
	password, err := Secret(c.DatabasePasswordFile)
	if err != nil || password == "" {
		return c.Database, err
	}
	u, err := url.Parse(c.Database)
	if err != nil { // the text would repeat the URL
		return "", fault(phrase.Of("config.database-unreadable"))
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}
