// Command sdk drives openai-go against Sluice. Each line on standard output names a topic that passed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

var (
	ctx    = context.Background()
	client = openai.NewClient() // OPENAI_BASE_URL and OPENAI_API_KEY
	schema = map[string]any{"type": "object", "properties": map[string]any{"river": map[string]any{"type": "string"}},
		"required": []string{"river"}}
)

// topic is one thing to check.
type topic struct {
	name  string
	check func() error
}

var (
	chatTopics = []topic{
		{"models", models},
		{"chat", chat},
		{"usage", usage},
		{"stream", stream},
		{"tools", tools},
		{"structured output", structured},
		{"pictures in a chat", picturesIn},
		{"errors", refusals},
		{"retries", retries},
	}
	imageTopics = []topic{{"images", images}, {"encoded", encoded}, {"edits", edits}, {"errors", imageRefusals}, {"paid once", paidOnce}}
)

func main() {
	topics := chatTopics
	if slices.Contains(os.Args, "images") {
		topics = imageTopics
	}
	for _, topic := range topics {
		if err := topic.check(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", topic.name, err)
			os.Exit(1)
		}
		fmt.Println(topic.name)
	}
}

func ask(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "llm-plus", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

const question = "What is a sluice?"

// wrong is an error that shows what came instead.
func wrong(v any) error {
	text, _ := json.Marshal(v)
	return fmt.Errorf("got %s", text)
}

func models() error {
	page, err := client.Models.List(ctx)
	if err != nil {
		return err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(page.Data, func(m openai.Model) bool { return m.ID == name })
	}
	if !has("llm-plus") || !has("gpt-4o") {
		return wrong(page.Data)
	}
	_, err = client.Models.Get(ctx, "gone")
	return refusedAs(err, 404, "model_not_found", "model")
}

var whole string

func chat() error {
	answer, err := client.Chat.Completions.New(ctx, ask(question))
	if err != nil {
		return err
	}
	whole = answer.Choices[0].Message.Content
	if whole == "" || answer.Model != "llm-plus" || answer.Choices[0].FinishReason != "stop" {
		return wrong(answer)
	}
	return nil
}

func usage() error {
	request := ask(question)
	request.MaxTokens = openai.Int(5)
	answer, err := client.Chat.Completions.New(ctx, request)
	if err != nil {
		return err
	}
	if u := answer.Usage; u.CompletionTokens != 5 || u.TotalTokens != u.PromptTokens+5 {
		return wrong(u)
	}
	return nil
}

func stream() error {
	request := ask(question)
	request.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	chunks := client.Chat.Completions.NewStreaming(ctx, request)
	sum := openai.ChatCompletionAccumulator{}
	for chunks.Next() {
		if !sum.AddChunk(chunks.Current()) {
			return wrong(chunks.Current())
		}
	}
	if err := chunks.Err(); err != nil {
		return err
	}
	if sum.Choices[0].Message.Content != whole || sum.Usage.TotalTokens == 0 {
		return wrong(sum.ChatCompletion)
	}
	return nil
}

func tools() error {
	request := ask("Which water_level has the Elbe?")
	request.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "water_level", Description: openai.String("The level of a river"), Parameters: schema,
	})}
	answer, err := client.Chat.Completions.New(ctx, request)
	if err != nil {
		return err
	}
	message := answer.Choices[0].Message
	if len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Name != "water_level" ||
		!json.Valid([]byte(message.ToolCalls[0].Function.Arguments)) {
		return wrong(answer)
	}
	chunks := client.Chat.Completions.NewStreaming(ctx, request)
	sum := openai.ChatCompletionAccumulator{}
	for chunks.Next() {
		sum.AddChunk(chunks.Current())
	}
	if err := chunks.Err(); err != nil {
		return err
	}
	if calls := sum.Choices[0].Message.ToolCalls; len(calls) != 1 || calls[0].Function.Arguments != message.ToolCalls[0].Function.Arguments {
		return wrong(sum.ChatCompletion)
	}
	request.Messages = append(request.Messages, message.ToParam(), openai.ToolMessage("2.1 m", message.ToolCalls[0].ID))
	end, err := client.Chat.Completions.New(ctx, request)
	if err == nil && end.Choices[0].Message.Content == "" {
		return wrong(end)
	}
	return err
}

func structured() error {
	request := ask("A river as JSON")
	request.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "river", Schema: schema, Strict: openai.Bool(true)},
	}
	answer, err := client.Chat.Completions.New(ctx, request)
	if err != nil {
		return err
	}
	var river struct{ River *string }
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &river); err != nil || river.River == nil {
		return wrong(answer)
	}
	return nil
}

func picturesIn() error {
	answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: "llm-vl",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What is this?"),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "https://pictures.example/mill.png"}),
		})},
	})
	if err == nil && answer.Choices[0].Message.Content == "" {
		return wrong(answer)
	}
	return err
}

func refusals() error {
	request := ask(question)
	request.TopP = openai.Float(3)
	_, err := client.Chat.Completions.New(ctx, request)
	if err := refusedAs(err, 400, "InvalidParameter", "top_p"); err != nil {
		return err
	}
	request = ask(question)
	request.Model = "secret-model"
	_, err = client.Chat.Completions.New(ctx, request)
	if err := refusedAs(err, 404, "model_not_found", "model"); err != nil {
		return err
	}
	_, err = client.Chat.Completions.New(ctx, ask(question), option.WithAPIKey("slk_wrong"))
	return refusedAs(err, 401, "InvalidApiKey", "")
}

// refusedAs checks the library's error.
func refusedAs(err error, status int, code, param string) error {
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != status || refused.Code != code || refused.Param != param {
		return fmt.Errorf("got %v, want %d %s %q", err, status, code, param)
	}
	return nil
}

// retries: the flaky way answers every first attempt with this status, and passes on the next.
func retries() error {
	for _, status := range []string{"429", "503"} {
		_, err := client.Chat.Completions.New(ctx, ask(question), option.WithBaseURL(os.Getenv("FLAKY")+"/"+status+"/v1"),
			option.WithMaxRetries(1))
		if err != nil {
			return fmt.Errorf("%s: %w", status, err)
		}
	}
	return nil
}
