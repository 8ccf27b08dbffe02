package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

var wish = openai.ImageGenerateParams{Model: "gen2.5-t2i", Prompt: "A mill by a river", N: openai.Int(1)}

// flaky is a way to Sluice on which the answer to each first attempt is lost.
func flaky(way string) option.RequestOption {
	return option.WithBaseURL(os.Getenv("FLAKY") + "/" + way + "/v1")
}

// picture makes one picture and returns its address, or its base64 text.
func picture(request openai.ImageGenerateParams, options ...option.RequestOption) (string, error) {
	made, err := client.Images.Generate(ctx, request, options...)
	if err != nil {
		return "", err
	}
	if len(made.Data) != 1 || made.Data[0].URL+made.Data[0].B64JSON == "" {
		return "", wrong(made)
	}
	return made.Data[0].URL + made.Data[0].B64JSON, nil
}

func images() error {
	two := wish
	two.N, two.Size = openai.Int(2), openai.ImageGenerateParamsSize1024x1024
	made, err := client.Images.Generate(ctx, two)
	if err != nil {
		return err
	}
	if len(made.Data) != 2 || made.Data[0].URL == "" || made.Created == 0 {
		return wrong(made)
	}
	atOnce := wish
	atOnce.Model = "llm-image-2.0"
	_, err = picture(atOnce)
	return err
}

func encoded() error {
	request := wish
	request.ResponseFormat = openai.ImageGenerateParamsResponseFormatB64JSON
	text, err := picture(request)
	if err != nil {
		return err
	}
	if drawn, err := base64.StdEncoding.DecodeString(text); err != nil || !strings.HasPrefix(string(drawn), "\x89PNG") {
		return fmt.Errorf("no PNG: %.20q (%v)", drawn, err)
	}
	return nil
}

func edits() error {
	mill, err := os.Open("mill.png")
	if err != nil {
		return err
	}
	defer func() { _ = mill.Close() }()
	made, err := client.Images.Edit(ctx, openai.ImageEditParams{
		Model: "gen2.6-image", Prompt: "The same mill in winter", N: openai.Int(1), Image: openai.ImageEditParamsImageUnion{OfFile: mill},
	})
	if err == nil && (len(made.Data) != 1 || made.Data[0].URL == "") {
		return wrong(made)
	}
	return err
}

func imageRefusals() error {
	request := wish
	request.Style = "natural"
	_, err := client.Images.Generate(ctx, request)
	if err := refusedAs(err, 400, "InvalidParameter", "style"); err != nil {
		return err
	}
	request = wish
	request.Quality = "hd"
	_, err = client.Images.Generate(ctx, request)
	return refusedAs(err, 400, "InvalidParameter", "quality")
}

// paidOnce: the library repeats no request with a file, because it cannot read the file again.
func paidOnce() error {
	for _, way := range []string{"lost", "after-408", "after-409", "after-429", "after-500", "after-502", "after-503"} {
		if _, err := picture(wish, flaky(way)); err != nil {
			return fmt.Errorf("%s: %w", way, err)
		}
	}
	hasty := &http.Client{Timeout: 700 * time.Millisecond} // after WithRequestTimeout the library repeats nothing
	_, err := picture(wish, option.WithHTTPClient(hasty), option.WithMaxRetries(8))
	return err
}
