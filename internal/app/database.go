package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"fairlane/internal/config"
	"fairlane/internal/store"
)

// checkDatabase refuses a path that no SQLite file can have: its directory is missing, or it is a directory itself. It does not
// check permissions, since the service may run as another user.
func checkDatabase(path string) error {
	if store.IsPostgres(path) {
		return nil
	}
	dir := filepath.Dir(path)
	at, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: directory %s does not exist: create it for the user that runs the service, or give another path", path, dir)
	case errors.Is(err, syscall.ENOTDIR), err == nil && !at.IsDir():
		return fmt.Errorf("%s: %s is not a directory: want the path of a file in a directory", path, dir)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: want the path of a SQLite file, existing or new", path)
	}
	return nil
}

// databaseURL is the database that a configuration names, with the password of its file put into the URL. It is
// never printed: config.ShownDatabase makes it fit for that.
func databaseURL(c *Config) (string, error) {
	password, err := config.Secret(c.DatabasePasswordFile)
	if err != nil || password == "" {
		return c.Database, err
	}
	u, err := url.Parse(c.Database)
	if err != nil { // the text would repeat the URL
		return "", fmt.Errorf("the database URL cannot be read")
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}
