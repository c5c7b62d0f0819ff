// Writes records with franz-go and reads them back, as its one argument says, and prints what came of it as JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Work is the argument. Without a mechanism there is no login, without an authority no TLS.
type Work struct {
	Brokers         []string `json:"brokers"`
	Mechanism       string   `json:"mechanism"`
	AuthorizationID string   `json:"authorization_id"`
	User            string   `json:"user"`
	// Password is the HMAC of a delegation token if DelegationToken is set, and the token of OAUTHBEARER.
	Password        string `json:"password"`
	DelegationToken bool   `json:"delegation_token"`
	Authority       string `json:"authority"`
	Certificate     string `json:"certificate"`
	Key             string `json:"key"`
	Topic           string `json:"topic"`
	// Records are written one by one, PauseMs apart, each when the one before is acknowledged.
	Records int `json:"records"`
	PauseMs int `json:"pause_ms"`
}

// Result is what is printed.
type Result struct {
	Written int    `json:"written"`
	Read    int    `json:"read"`
	Error   string `json:"error"`
}

func (work Work) mechanism() (sasl.Mechanism, error) {
	login := scram.Auth{Zid: work.AuthorizationID, User: work.User, Pass: work.Password, IsToken: work.DelegationToken}
	switch work.Mechanism {
	case "PLAIN":
		return plain.Auth{Zid: work.AuthorizationID, User: work.User, Pass: work.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return login.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return login.AsSha512Mechanism(), nil
	case "OAUTHBEARER":
		return oauth.Auth{Zid: work.AuthorizationID, Token: work.Password}.AsMechanism(), nil
	}
	return nil, fmt.Errorf("no such mechanism: %q", work.Mechanism)
}

func (work Work) tls() (*tls.Config, error) {
	authority, err := os.ReadFile(work.Authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(authority) {
		return nil, errors.New("no certificate in " + work.Authority)
	}
	if work.Certificate != "" {
		own, err := tls.LoadX509KeyPair(work.Certificate, work.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func (work Work) options() ([]kgo.Opt, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(work.Brokers...),
		kgo.DefaultProduceTopic(work.Topic),
		kgo.ConsumeTopics(work.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ProducerLinger(0),
		// Whoever is refused tries no longer than the test waits.
		kgo.RetryTimeout(2 * time.Second),
		kgo.RecordDeliveryTimeout(2 * time.Second),
	}
	if work.Mechanism != "" {
		mechanism, err := work.mechanism()
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.SASL(mechanism))
	}
	if work.Authority != "" {
		config, err := work.tls()
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	return options, nil
}

func (work Work) do(ctx context.Context, result *Result) error {
	options, err := work.options()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return err
	}
	for result.Written < work.Records {
		record := &kgo.Record{Value: fmt.Appendf(nil, "%s %d", work.Topic, result.Written)}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			return err
		}
		result.Written++
		time.Sleep(time.Duration(work.PauseMs) * time.Millisecond)
	}
	for result.Read < work.Records {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if want := fmt.Sprintf("%s %d", work.Topic, result.Read); string(record.Value) != want {
				return fmt.Errorf("read %q instead of %q", record.Value, want)
			}
			result.Read++
		}
	}
	return nil
}

func main() {
	var work Work
	var result Result
	err := json.Unmarshal([]byte(os.Args[1]), &work)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = work.do(ctx, &result)
	}
	if err != nil {
		result.Error = err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(result)
}
