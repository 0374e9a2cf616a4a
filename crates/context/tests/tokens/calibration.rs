//! From reported usage to a factor.

use serde_json::json;
use threadkeep_context::tokens::{Calibration, Factor, reported_input};
use threadkeep_provider::Provider;

fn after(observations: &[(u32, u32)]) -> Factor {
    let mut factor = Factor::default();
    observations.iter().for_each(|(counted, reported)| factor.observe(*counted, *reported));
    factor
}

#[test]
fn nothing_observed_changes_nothing() {
    for factor in [Factor::default(), after(&[(0, 100), (100, 0)])] {
        assert_eq!((factor.per_mille(), factor.scale(777), factor.room(777)), (1000, 777, 777));
    }
}

#[test]
fn many_requests_weigh_more_than_one() {
    assert_eq!(after(&[(50_000, 60_000); 40]).per_mille(), 1200);
    let one_short = after(&[(20, 40)]).per_mille();
    assert!((1001..1150).contains(&one_short), "{one_short}");
}

#[test]
fn a_new_ratio_is_learned_and_the_old_forgotten() {
    let mut factor = after(&[(100_000, 100_000); 50]);
    (0..50).for_each(|_| factor.observe(100_000, 150_000));
    assert!((1480..=1500).contains(&factor.per_mille()), "{}", factor.per_mille());
}

#[test]
fn absurd_reports_are_bounded() {
    let (most, least) = (after(&[(1_000_000, u32::MAX); 9]).per_mille(), after(&[(1_000_000, 1); 9]).per_mille());
    assert!((3995..=4000).contains(&most) && (250..=251).contains(&least), "{most} {least}");
    let factor = after(&[(u32::MAX, u32::MAX)]);
    assert_eq!((factor.scale(u32::MAX), factor.room(u32::MAX)), (u32::MAX, u32::MAX));
    assert_eq!(after(&[(u32::MAX, u32::MAX), (1000, u32::MAX)]).scale(0), 0);
}

#[test]
fn what_has_room_fits_when_scaled() {
    for (counted, reported) in [(1000, 1300), (3000, 1000), (999, 1000), (10_000, 39_999)] {
        let factor = after(&[(counted, reported)]);
        for budget in [0, 1, 7, 1000, 4096, 200_000] {
            assert!(factor.scale(factor.room(budget)) <= budget, "{factor:?} {budget}");
        }
    }
}

#[test]
fn it_can_be_stored() {
    let mut calibration = Calibration::default();
    calibration.observe("claude-sonnet-4-5", 1000, 1200);
    calibration.observe("llama3", 500, 700);
    calibration.observe("claude-sonnet-4-5", 1000, 1300);
    let json = calibration.to_json();
    assert_eq!(json, json!({"claude-sonnet-4-5": [2000, 2500], "llama3": [500, 700]}));
    assert_eq!(Calibration::from_json(&json), calibration);
    assert_eq!(calibration.factor("unknown"), Factor::default());
    assert!(calibration.factor("llama3").per_mille() > 1200);
    for odd in [json!(null), json!([1]), json!({"a": [1]}), json!({"a": ["x", 2]}), json!({"a": [u64::MAX, 1]})] {
        assert_eq!(Calibration::from_json(&odd), Calibration::default(), "{odd}");
    }
}

#[test]
fn usage_of_every_provider() {
    let check = |provider, usage, tokens| assert_eq!(reported_input(provider, &usage), tokens);
    check(Provider::OpenAiChat, json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}), Some(10));
    check(Provider::OpenAiResponses, json!({"input_tokens": 11, "output_tokens": 2}), Some(11));
    check(
        Provider::Anthropic,
        json!({"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100}),
        Some(123),
    );
    check(Provider::Anthropic, json!({"input_tokens": 3, "cache_read_input_tokens": null}), Some(3));
    check(Provider::Gemini, json!({"promptTokenCount": 12, "cachedContentTokenCount": 5}), Some(12));
    check(Provider::Ollama, json!({"prompt_eval_count": 13}), Some(13));
    for provider in Provider::ALL {
        check(provider, json!({}), None);
        check(provider, json!(null), None);
    }
}
