package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// curlMain implements as much of curl as the lines of the demonstration and of the tour use, so that they are tested as
// they are on a machine without curl.
func curlMain() {
	if err := curl(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
}

func curl(args []string) error {
	method, body, after, file := http.MethodGet, "", "", ""
	url, header, include := "", http.Header{}, false
	for i := 0; i < len(args); i++ {
		value := func() string { i++; return args[i] }
		switch arg := args[i]; arg {
		case "-s", "-sN", "-N":
		case "-i":
			include = true
		case "-w":
			after = strings.ReplaceAll(value(), `\n`, "\n")
		case "-o":
			file = value()
		case "-H":
			name, content, _ := strings.Cut(value(), ": ")
			header.Add(name, content)
		case "-d":
			method, body = http.MethodPost, value()
		default:
			if url != "" || strings.HasPrefix(arg, "-") {
				return fmt.Errorf("%s: not in this curl", arg)
			}
			url = arg
		}
	}
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if include {
		fmt.Printf("%s %s\r\n", answer.Proto, answer.Status)
		if answer.Close {
			answer.Header.Set("Connection", "close") // net/http removes it
		}
		_ = answer.Header.Write(os.Stdout)
		fmt.Print("\r\n")
	}
	out := os.Stdout
	if file != "" {
		if out, err = os.Create(file); err != nil {
			return err
		}
		defer func() { _ = out.Close() }()
	}
	_, err = io.Copy(out, answer.Body)
	fmt.Print(after)
	return err
}
