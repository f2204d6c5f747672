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

// checkDatabase refuses a SQLite file that cannot be there: in no directory, or itself one. Whether this user may use it is not
// judged, since the service may run as another.
func checkDatabase(path string) error {
	if store.IsPostgres(path) {
		return nil
	}
	dir := filepath.Dir(path)
	at, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: directory %s does not exist: make it and give it to the user that runs the service, or name another path", path, dir)
	case errors.Is(err, syscall.ENOTDIR), err == nil && !at.IsDir():
		return fmt.Errorf("%s: %s is not a directory: want the path of a file in a directory", path, dir)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: want the path of a SQLite file, there or to be made", path)
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
