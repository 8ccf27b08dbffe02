package main

import (
	"errors"
	"fmt"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/console/remote"
)

// errNoConsole is the error of a command that needs a console.
var errNoConsole = errors.New(settings.Prefix + "CONSOLE_URL is not set: it is the console's address, such as https://sluice.example")

// newConsoleClient returns the console that the environment names.
func newConsoleClient(p program) (*remote.Console, error) {
	s, err := settingsFor(p.environ, "CONSOLE_URL", "CONSOLE_TOKEN_FILE")
	switch {
	case err != nil:
		return nil, err
	case s.ConsoleURL == "":
		return nil, errNoConsole
	case s.ConsoleTokenFile == "":
		return nil, errors.New(settings.Prefix + "CONSOLE_TOKEN_FILE is not set: it is a file with the console's token")
	}
	token, err := files.Secret(s.ConsoleTokenFile)
	if err != nil {
		return nil, fmt.Errorf("%sCONSOLE_TOKEN_FILE: %w", settings.Prefix, err)
	}
	return remote.New(string(s.ConsoleURL), token), nil
}
